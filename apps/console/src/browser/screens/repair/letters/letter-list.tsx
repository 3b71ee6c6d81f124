import { Code } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { InputOf } from '../../../../actions/index.ts'
import { usePages } from '../../../api/queries.ts'
import type { DeadLetter } from '../../../api/records.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { LetterSelection } from './selection.ts'

/** Dead letters one by one, the newest first. */
export function LetterList({ selection }: { selection: LetterSelection }) {
  const t = useTexts()
  const query = usePages('listDeadLetters', { ...selection, limit: 20 } as InputOf<'listDeadLetters'>)
  return (
    <List
      action="listDeadLetters"
      query={query}
      label={t.sections.deadLetters}
      keyOf={({ id }) => id}
      empty={<Empty text={Object.keys(selection).length === 0 ? t.deadLetters.empty : t.states.noMatch} />}
      columns={[
        { label: t.deadLetters.died, render: (letter) => <Time at={letter.died_at} /> },
        { label: t.deadLetters.cause, render: ({ cause }) => <Code>{cause}</Code> },
        { label: t.deadLetters.event, render: (letter) => <EventLink letter={letter} /> },
        { label: t.deadLetters.user, render: (letter) => letter.user_id },
        { label: t.deadLetters.channel, render: ({ channel }) => channel },
        { label: t.deadLetters.detail, render: ({ detail }) => detail },
        { label: t.common.actions, isAction: true, render: (letter) => <LetterActions letter={letter} /> },
      ]}
    />
  )
}

function EventLink({ letter: { event, notification_id: id } }: { letter: DeadLetter }) {
  if (id === undefined) return event ?? null
  return (
    <Link to="/notifications/$id" params={{ id }}>
      {event ?? id}
    </Link>
  )
}

function LetterActions({ letter: { id, event = id, expires_at } }: { letter: DeadLetter }) {
  const t = useTexts()
  const expired = expires_at !== undefined && Date.parse(expires_at) <= Date.now()
  const input = { id }
  return (
    <>
      {expired ? (
        <State tone="neutral">{t.deadLetters.expired}</State>
      ) : (
        <Act
          action="replayDeadLetter"
          input={input}
          label={t.deadLetters.replay}
          about={event}
          done={t.deadLetters.replayed}
        />
      )}
      <Act
        action="discardDeadLetter"
        input={input}
        label={t.deadLetters.discard}
        about={event}
        text={t.deadLetters.discardText}
        done={t.deadLetters.discarded}
      />
    </>
  )
}
