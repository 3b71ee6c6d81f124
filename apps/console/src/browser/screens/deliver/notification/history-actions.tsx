import type { Notification } from '@gatehouse/client'
import { Group } from '@mantine/core'
import type { InputOf } from '../../../../actions/index.ts'
import { useRead } from '../../../api/queries.ts'
import type { Delivery } from '../../../api/records.ts'
import { useMay } from '../../../api/session.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'

interface HistoryActionsProps {
  readonly delivery: Delivery
  readonly notification: Notification
}

/** What can be done about one channel: replay its dead letter, suppress it for the user. */
export function HistoryActions({ delivery, notification }: HistoryActionsProps) {
  const t = useTexts()
  const words = useWords()
  const { channel, ended, state } = delivery
  const { user_id: userId } = notification
  const isTrouble = ended === 'dead_letter' || state === 'bounced'
  if (!isTrouble) return null
  const about = words.channel(channel)
  return (
    <Group gap="xs">
      {ended === 'dead_letter' && <Replay delivery={delivery} notification={notification} />}
      <Act
        action="addSuppression"
        input={{ user_id: userId, channel, reason: 'manual' } as InputOf<'addSuppression'>}
        label={t.notification.suppress}
        about={about}
        text={t.notification.suppressText}
        done={t.notification.suppressed}
      />
    </Group>
  )
}

/** The button that replays the dead letter of a delivery, when it is still there. */
function Replay({ delivery: { channel }, notification: { id, user_id, event } }: HistoryActionsProps) {
  const t = useTexts()
  const words = useWords()
  const may = useMay()
  const input = { user_id, event, channel, limit: 200 } as InputOf<'listDeadLetters'>
  const letters = useRead('listDeadLetters', input, may('replayDeadLetter'))
  const letter = letters.data?.items.find(({ notification_id: of }) => of === id)
  if (letter === undefined) return null
  return (
    <Act
      action="replayDeadLetter"
      input={{ id: letter.id }}
      label={t.notification.replay}
      about={words.channel(channel)}
      done={t.notification.replayed}
    />
  )
}
