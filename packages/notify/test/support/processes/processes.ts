import { type Setup, type SetupOptions, setup } from '../setup.ts'

/** Further processes of a service on its database and with its clock; they stop before the database does. */
export function createProcesses(first: Setup, options: SetupOptions) {
  const started: Setup[] = []
  return {
    /** Starts another process, that works. */
    async start(more: SetupOptions = {}): Promise<Setup> {
      const process = await setup({ ...options, work: true, ...more, clock: first.clock, database: first.database })
      started.push(process)
      return process
    },
    async close(): Promise<void> {
      for (const process of started) await Promise.all([process.http.close(), process.notify.stop()])
      await first.close()
    },
  }
}
