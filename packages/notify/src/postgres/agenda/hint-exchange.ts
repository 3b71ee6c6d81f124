import { changedKeys, createNotifier, type Database } from '@gatehouse/kit'
import type { HintExchange } from '../../store/ownership.ts'

const channel = 'notify_hints'

/** Between two notifications of a process, in milliseconds: what has gathered goes together. */
const spacingMs = 25

/** Hints between the processes on a PostgreSQL, as notifications of it. */
export function postgresHints(database: Database): HintExchange {
  const notifier = createNotifier(database, channel, { spacingMs })
  return {
    publish: (hints) => notifier.publish(hints),
    listen: ({ onHints, onGap }) =>
      database.listen(channel, {
        onNotification(payload) {
          const hints = changedKeys(payload)
          if (hints) onHints(hints)
          else onGap()
        },
        onGap,
      }),
  }
}
