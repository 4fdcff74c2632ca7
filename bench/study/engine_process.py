"""The study's queries as plans in an engine, in processes of their own (study_engine.cc has the commands)."""
import contextlib
import subprocess

import common
from common import ProgramFailed
from lab_process import LabProcess

ENGINE = "bench/study/study_engine"


@contextlib.contextmanager
def engines(lab, data, parts, ways):
    """Name -> a LabProcess that has the parts; `ways`: name -> (more arguments, environment). What the processes fail in ends the
    block with ProgramFailed. Errors: NotPossible, ProgramFailed."""
    program, found = str(lab.path(ENGINE)), {}
    try:
        for name, (arguments, env) in ways.items():
            found[name] = LabProcess([program, "--scale", str(data), "--aeus", str(lab.cores), "--seed", str(common.SEED), "--parts", ",".join(parts),
                                      *arguments], env, name)
            found[name].ask("load")
        yield found
        for one in found.values():
            one.stop()
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramFailed(str(error)) from error
    finally:
        for one in found.values():
            one.process.kill()


def same(query, answers):
    """Errors: ProgramFailed."""
    if len(found := {(one["rows"], one["checksum"]) for one in answers}) != 1:
        raise ProgramFailed(f"{query} has {len(found)} different answers")
