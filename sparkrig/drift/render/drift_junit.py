"""The drift report as JUnit XML: a suite is a host, a case one of its checks."""

from __future__ import annotations

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from sparkrig.cure import quoted_path
from sparkrig.drift.drift import Host, Report, Row
from sparkrig.text import lines


def xml(report: Report) -> str:
    """The text. What does not hold is a failure, what is unknown is an error, what is accepted is skipped."""
    whole = JUnitXml(f"sparkrig drift {quoted_path(report.inventory)}")
    for host in report.hosts:
        suite = TestSuite(host.name)
        suite.hostname = host.name
        suite.timestamp = report.started.isoformat()
        suite.add_testcases(_cases(host))
        whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]
    for element in whole._elem.iter():  # XML has no place for control characters, and no way to write them
        element.text = lines(element.text) if element.text else None
        element.attrib.update({name: lines(value) for name, value in element.attrib.items()})
    return str(whole.tostring().decode())  # type: ignore[no-untyped-call]


def _cases(host: Host) -> list[TestCase]:
    if host.unread is not None:
        error = Error(host.unread, "unreachable")
        error.text = f"{host.unread}\ntry: {host.cure}"
        return [_case(host, "read", error)]
    return [_case(host, row.id, _result(row)) for row in host.rows]


def _case(host: Host, name: str, result: FinalResult | None) -> TestCase:
    case = TestCase(name, classname=host.name, time=0)
    if result:
        case.result = [result]
    return case


def _result(row: Row) -> FinalResult | None:
    if row.accepted:
        return Skipped(f"accepted until {row.accepted.until}: {row.accepted.why}", row.status)
    if row.status == "ok":
        return None
    if row.status == "skipped":
        return Skipped(row.found, row.status)
    said = f"{row.found}; want {row.want}"
    result: FinalResult = Error(said, row.status) if row.status == "unknown" else Failure(said, row.status)
    moved = f"\n{row.moved} moved, since {row.since:%Y-%m-%d %H:%M} UTC" if row.moved and row.since else ""
    result.text = f"{said}{moved}\ntry: {row.cure}"
    return result
