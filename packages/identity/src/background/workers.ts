import { startWorker, type Worker } from '@gatehouse/kit'
import { audit } from '../audit/record.ts'
import type { IdentityOptions } from '../config/options.ts'
import type { Parts } from '../context/context.ts'
import { deliverOutbox, type outboxLanes } from './outbox.ts'

/** So soon a key that another process made is published by this one too, and one that was forgotten signs no more. */
const keysReadEveryMs = 1_000
const outboxReadEveryMs = 2_000
const purgeEveryMs = 60_000
/** Rows of each kind that one pass of the purge removes. */
const purgedAtOnce = 500

/** What runs beside the requests: keys are read and made, the outbox is delivered, what has ended is removed. */
export function startWorkers(
  parts: Parts,
  { notify, onRecipient }: Pick<IdentityOptions, 'notify' | 'onRecipient'>,
): { readonly keys: Worker; readonly mails: Worker; readonly logouts: Worker; readonly purge: Worker } {
  const { log } = parts
  const outbox = (lane: keyof typeof outboxLanes) =>
    startWorker({
      name: `identity ${lane}`,
      log,
      idleMs: outboxReadEveryMs,
      pass: () => deliverOutbox({ parts, notify, onRecipient }, lane),
    })
  return {
    keys: startWorker({
      name: 'identity keys',
      log,
      idleMs: keysReadEveryMs,
      async pass() {
        const made = await parts.keys.refresh()
        for (const { alg, kid } of made) {
          log.info({ alg, kid }, 'a signing key was made')
          await audit(parts, undefined, 'key_rotated', { actor: 'schedule', details: { alg, kid } })
        }
        return false
      },
    }),
    mails: outbox('mails'),
    logouts: outbox('logouts'),
    purge: startWorker({ name: 'identity purge', log, idleMs: purgeEveryMs, pass: () => purge(parts) }),
  }
}

/** One pass of the purge; true when more is likely left. */
async function purge({ store, clock, lifetimes, metrics }: Parts): Promise<boolean> {
  const now = clock.now()
  const gone = await store.purge.purge(now, now - lifetimes.auditEvent * 1000, purgedAtOnce)
  metrics.purged({ ...gone, signing_key: await store.signingKeys.purge(now) })
  return Object.values(gone).some((count) => count >= purgedAtOnce)
}
