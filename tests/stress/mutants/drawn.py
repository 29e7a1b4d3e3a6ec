"""Draw mutants of the whole product and see the tests notice.

`python3 -m tests.stress.mutants.drawn --seed 20261126 --count 80`

`python3 -m tests.stress.mutants` tries every mutant of a few modules. This draws some of all that mutmut can make of the
client, the protocol, the policy, the flows, REST, the admin, the sandbox and the test kit, at least eight of each. The
everyday tests run once in a copy of the tree in which the drawn functions note which tests reach them. Then each mutant is
put into the copy, and those tests run until one fails. Prints the seed, and place, change and outcome of each mutant. A
survivor wants a test, or an entry among the "drawn" ones of `equivalent.toml` with the reason. Exit code 0 when all were
caught or are listed there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from example_project.environment import EnvironmentFailed, enter
from tests.stress.mutants.__main__ import RECIPE


def main() -> int:
    """Enter the environment with mutmut, then draw and try."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.stress.mutants.drawn", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--seed", type=int, default=20261126, help="the same seed draws the same of the same code"
    )
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument(
        "--only", type=int, nargs="*", help="numbers of the drawn mutants to try; all unless named"
    )
    parser.add_argument(
        "--reach", type=Path, help="file to keep which tests reach what; read when it is there"
    )
    parser.add_argument("--json", type=Path, help="file for the outcomes")
    options = parser.parse_args()
    try:
        enter("mutation", RECIPE, ["-m", "tests.stress.mutants.drawn", *sys.argv[1:]])
    except EnvironmentFailed as failed:
        print(failed, file=sys.stderr)
        return 1

    # Only the environment has what the rest needs.
    from tests.stress.mutants.attempts import GOOD, attempts
    from tests.stress.mutants.draw import drawn_mutants

    mutants = drawn_mutants(options.seed, options.count)
    print(f"seed {options.seed}: {len(mutants)} mutants", flush=True)
    rows = []
    for number, mutant, outcome in attempts(mutants, only=options.only, reach=options.reach):
        print(f"{number:3} {outcome}  {mutant.place} in {mutant.function}\n{mutant.diff}", flush=True)
        rows.append(
            {
                "number": number,
                "area": mutant.area,
                "place": mutant.place,
                "diff": mutant.diff,
                "outcome": outcome,
            }
        )
    outcomes = [str(row["outcome"]) for row in rows]
    print(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in sorted(set(outcomes))))
    if options.json:
        text = json.dumps({"seed": options.seed, "mutants": rows}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0 if set(outcomes) <= GOOD else 1


if __name__ == "__main__":
    sys.exit(main())
