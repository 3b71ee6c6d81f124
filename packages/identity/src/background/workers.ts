import { startStatRecorder, startWorker, type Worker } from '@gatehouse/kit'
import { audit } from '../audit/record.ts'
import type { IdentityOptions } from '../config/options.ts'
import type { BackgroundContext } from '../context/features.ts'
import { deliverOutbox, type outboxQueues } from './outbox.ts'

/** How soon a key of another process is published here, and a compromised one stops signing. */
const keysReadEveryMs = 1_000
const outboxReadEveryMs = 2_000
const purgeEveryMs = 60_000
const usesWrittenEveryMs = 10_000
/** Rows of each table that one pass deletes. */
const purgeBatch = 500

/** Starts the workers: keys are read and created, the outbox is delivered, uses are written, expired rows are deleted. */
export function startWorkers(
  context: BackgroundContext,
  { notify, onRecipient }: Pick<IdentityOptions, 'notify' | 'onRecipient'>,
): Readonly<Record<'keys' | 'mails' | 'calls' | 'uses' | 'purge' | 'stats', Worker>> {
  const { log, tally, store, clock } = context
  const outbox = (queue: keyof typeof outboxQueues) =>
    startWorker({
      name: `identity ${queue}`,
      log,
      idleMs: outboxReadEveryMs,
      pass: (stopping) => deliverOutbox({ context, notify, onRecipient }, queue, stopping),
    })
  return {
    keys: startWorker({
      name: 'identity keys',
      log,
      idleMs: keysReadEveryMs,
      async pass() {
        const made = await context.keys.refresh()
        for (const { alg, kid } of made) {
          log.info({ alg, kid }, 'a signing key was created')
          await audit(context, undefined, 'key_rotated', { actor: 'schedule', details: { alg, kid } })
        }
        return false
      },
    }),
    mails: outbox('mails'),
    calls: outbox('calls'),
    uses: startUseWriter(context),
    stats: startStatRecorder({ name: 'identity stats', tally, store: store.stats, clock, log }),
    purge: startWorker({ name: 'identity purge', log, idleMs: purgeEveryMs, pass: () => purge(context) }),
  }
}

/** Writes when clients and keys were last used; once more when it stops. */
function startUseWriter({ log, lastUses, store }: BackgroundContext): Worker {
  const pass = async () => {
    await lastUses.write(store.lastUses)
    return false
  }
  const worker = startWorker({ name: 'identity uses', log, idleMs: usesWrittenEveryMs, pass })
  return {
    ...worker,
    async stop() {
      await worker.stop()
      await pass().catch((error) => log.warn({ err: error }, 'the last uses of clients and keys could not be written'))
    },
  }
}

/** One pass of the purge; true when more is likely left. */
async function purge({ store, clock, lifetimes, metrics }: BackgroundContext): Promise<boolean> {
  const now = clock.now()
  const removed = await store.purge.purge(now, now - lifetimes.auditEvent * 1000, purgeBatch)
  metrics.rowsPurged({ ...removed, signing_key: await store.signingKeys.purge(now) })
  return Object.values(removed).some((count) => count >= purgeBatch)
}
