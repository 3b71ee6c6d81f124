import { runInNewContext } from 'node:vm'

/** So long that only work which would take minutes is ended by it. */
const hangBoundMs = 20_000

/** Does work that never waits, and throws where it hangs: the timeout of a test cannot interrupt such work. */
export function endWhereItHangs<Result>(work: () => Result): Result {
  return runInNewContext('work()', { work }, { timeout: hangBoundMs }) as Result
}
