/** Some work took longer than its caller waits. The message names the work and its limit. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * Resolves or rejects as the work does, unless that takes longer than `milliseconds`. The work itself is not ended: what
 * becomes of it later is ignored, a rejection too. The timer is cleared as soon as the work ends.
 * @param what names the work in the error, such as `the ping of the database`
 * @throws TimeoutError when the work takes longer
 *
 * @example
 * await withinTime(2_000, 'the ping of the database', database.ping())
 */
export async function withinTime<Value>(milliseconds: number, what: string, work: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const giveUp = () => late.reject(new TimeoutError(`${what} took longer than ${milliseconds} ms`))
  const timer = setTimeout(giveUp, milliseconds)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
