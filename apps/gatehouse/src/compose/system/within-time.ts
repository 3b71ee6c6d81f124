const timeoutMs = 4_000

/** What some work resolves with. @throws Error when it takes longer than four seconds */
export function withinTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), timeoutMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
