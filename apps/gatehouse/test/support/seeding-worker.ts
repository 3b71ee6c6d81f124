import { joinSupervisor } from '../../src/process/supervision.ts'

/** A worker that becomes ready when it is asked for its readiness, and exits with 3 on an order to stop. */
const supervision = await joinSupervisor()
supervision?.deferStop()
supervision?.answer('readiness', async () => {
  const secret = 'shown once'
  const seeded = [{ kind: 'user' as const, id: 'ann', detail: 'signs in', secret }]
  const engines = { database: 'none', counters: 'in memory' }
  const pages = { mailbox: false, devInbox: false, devPagesForAll: false, metricsUrl: undefined }
  const stop = () => void supervision.leave(undefined).then(() => process.exit(3))
  supervision.ready({ ...engines, ...pages, seeded }, { reload() {}, stop })
})
