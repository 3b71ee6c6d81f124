/** The start options of a process under test, and the messages that it exchanges with the benchmark. */
export interface Start {
  readonly upstream: string
  readonly issuer: string
  readonly audience: string
  readonly jwk: Record<string, unknown>
  /** Counters in Redis instead of memory. */
  readonly redis?: string
}

export interface Usage {
  /** Processor time of all threads since the last question, in microseconds. */
  readonly cpu: number
  /** Longest of 99 in 100 limiter checks since the last question, in milliseconds. */
  readonly checkP99Ms: number
}

/** The options that this process was started with. */
export function startOf(): Start {
  return JSON.parse(process.argv[2] ?? '{}')
}

/** Sends the address, then answers each message with the usage since the last one. */
export function report(url: string, checkP99Ms: () => number = () => 0): void {
  let before = process.cpuUsage()
  process.on('message', () => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    process.send?.({ cpu: user + system, checkP99Ms: checkP99Ms() } satisfies Usage)
  })
  process.on('disconnect', () => process.exit())
  process.send?.(url)
}
