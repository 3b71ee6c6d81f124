/** How a process of the fleet counts. */
export type Mode = 'exact' | 'hybrid' | 'cluster'

/** What the parent sends a process. */
export interface Start {
  readonly mode: Mode
  /** Ports of the server, or of the primaries of a cluster. */
  readonly ports: readonly number[]
  readonly instances: number
  readonly users: number
  readonly seconds: number
}

/** What a process reports. */
export interface Outcome {
  readonly checks: number
  /** Checks before the measured ones. */
  readonly warmUp: number
  /** Seconds of elapsed time, and of processor time of the whole process. */
  readonly seconds: number
  readonly cpuSeconds: number
}
