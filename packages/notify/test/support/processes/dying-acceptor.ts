/** A process that dies between the commit of an event and its handover: `node dying-acceptor.ts URL`. */
import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { createNotify, type Provider } from '../../../src/index.ts'
import { postgresNotifyStore } from '../../../src/postgres/index.ts'
import { migrateNotify } from '../engine/engine.ts'
import { provider as base, shipped } from '../providers/webhook-provider.ts'

const [url = ''] = process.argv.slice(2)
const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 4 })
const store = postgresNotifyStore(database, await migrateNotify(database))
const { promise: isIdle, resolve: becomeIdle } = Promise.withResolvers<void>()
let reads = 0
const provider: Provider = { ...base, send: () => Promise.reject(new Error('it was called')) }
const notify = await createNotify({
  store: {
    ...store,
    // Both workers read the breakers at their start, and again a second later: they have nothing to do then.
    providerHealth: {
      ...store.providerHealth,
      open(now, maxWaitMs) {
        if (++reads > 3) becomeIdle()
        return store.providerHealth.open(now, maxWaitMs)
      },
    },
    intake: {
      ...store.intake,
      async admit(...batch) {
        await store.intake.admit(...batch)
        process.kill(process.pid, 'SIGKILL')
        return []
      },
    },
  },
  providers: { email: [provider] },
  authenticate: () => {
    throw new Error('nobody asks')
  },
  options: { idleMs: 50 },
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
})
await isIdle
await notify.accept([{ ...shipped, channels: ['email'] }])
