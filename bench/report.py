"""The rows of the benchmark: judged, printed, kept as JSON and drawn."""
import html
import json
import os
import pathlib
import platform
import subprocess


class Report:
    def __init__(self, judge_times):
        self.rows, self.judge_times, self.wrong = [], judge_times, []

    def add(self, measure, value, unit, target, count=False, complete=True):
        """`count` is exact and fails the run when missed. What is not `complete` cannot meet its target, only miss it."""
        met = None
        if target and (count or self.judge_times):
            sign, limit = target.split()
            limit = float(limit)
            met = {"<=": value <= limit, ">=": value >= limit, "==": abs(value - limit) < 1e-9}[sign]
            if met and not complete:
                met = None
        if count and met is False:
            self.wrong.append(f"{measure}: {value:g} {unit}, not {target}")
        self.rows.append({"measure": measure, "value": round(value, 4), "unit": unit, "target": target, "met": met})

    def finish(self, here, output):
        width = max(len(row["measure"]) for row in self.rows)
        print(f"{'measure':{width}}  {'value':>10} {'unit':6} {'target':8} met")
        for row in self.rows:
            met = {True: "yes", False: "NO", None: "" if not row["target"] else "not judged"}[row["met"]]
            print(f"{row['measure']:{width}}  {row['value']:>10.2f} {row['unit']:6} {row['target'] or '':8} {met}")
        print(f"\n{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {versions(here)}")
        missed = [row["measure"] for row in self.rows if row["met"] is False]
        print(f"{len(self.rows)} rows; missed: {', '.join(missed) or 'none'}. What is known of the reasons is in bench/README.md.")
        folder = pathlib.Path(output)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(self.rows, indent=1) + "\n")
        (folder / "plot.svg").write_text(plot(self.rows))
        if self.wrong:
            raise SystemExit("counts that must hold on any machine do not:\n" + "\n".join(self.wrong))


def versions(here):
    node = json.loads((here / "peers/node/package.json").read_text())["dependencies"]
    try:
        runtime = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        runtime = "none"
    python = [line for line in (here / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    return (f"Node {runtime}: {', '.join(f'{name} {version}' for name, version in node.items())}; "
            f"Python {platform.python_version()}: {', '.join(python)}")


def plot(rows):
    """Bars by subject, one group for each of four measures."""
    groups = ["cold start", "warm p50", "CPU per applied event", "peak memory"]
    lines, top = [], 24
    for group in groups:
        found = [row for row in rows if row["measure"].startswith(group + ": ") and row["unit"] in ("ms", "MiB")]
        if not found:
            continue
        unit, most = found[0]["unit"], max(row["value"] for row in found)
        lines.append(f'<text x="8" y="{top}" font-weight="bold">{group}, {unit}</text>')
        for row in found:
            top += 20
            name = row["measure"].split(": ", 1)[1]
            colour = "#2a7" if name.startswith("oncehook") else "#999" if name.startswith("floor") else "#c63"
            length = 420 * row["value"] / most
            lines.append(f'<text x="8" y="{top}">{html.escape(name)}</text>'
                         f'<rect x="130" y="{top - 11}" width="{length:.1f}" height="13" fill="{colour}"/>'
                         f'<text x="{136 + length:.1f}" y="{top}">{row["value"]:.2f}</text>')
        top += 34
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{top}" font-family="sans-serif" font-size="12">'
            + "".join(lines) + "</svg>\n")
