import { Button, Code, Group, NativeSelect, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { InputOf } from '../../../actions/index.ts'
import { type Filters, readFilters, useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import type { DeadLetter } from '../../api/records.ts'
import { Act } from '../../parts/act.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { State, Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

const names = ['cause', 'event', 'user_id', 'channel'] as const

/** What failed for good, and the way to deliver it again. */
export function DeadLettersScreen() {
  const t = useTexts()
  const [filters, apply] = useFilters(names)
  return (
    <Page title={t.sections.deadLetters} lead={t.deadLetters.lead}>
      <form
        key={JSON.stringify(filters)}
        aria-label={t.audit.filters}
        onSubmit={(event) => {
          event.preventDefault()
          apply(readFilters(names, event.currentTarget))
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput name="cause" label={t.deadLetters.cause} defaultValue={filters.cause ?? ''} w={160} />
          <TextInput name="event" label={t.deadLetters.event} defaultValue={filters.event ?? ''} w={160} />
          <TextInput name="user_id" label={t.deadLetters.user} defaultValue={filters.user_id ?? ''} w={160} />
          <NativeSelect
            name="channel"
            label={t.deadLetters.channel}
            defaultValue={filters.channel ?? ''}
            data={[{ value: '', label: t.deadLetters.everyChannel }, 'push', 'email', 'sms', 'in-app']}
          />
          <Button type="submit">{t.common.search}</Button>
          {Object.keys(filters).length > 0 && (
            <Button variant="subtle" onClick={() => apply({})}>
              {t.common.clear}
            </Button>
          )}
        </Group>
      </form>
      <DeadLetterList filters={filters} />
    </Page>
  )
}

function DeadLetterList({ filters }: { filters: Filters<(typeof names)[number]> }) {
  const t = useTexts()
  const query = usePages('listDeadLetters', { ...filters, limit: 50 } as InputOf<'listDeadLetters'>)
  return (
    <List
      action="listDeadLetters"
      query={query}
      label={t.sections.deadLetters}
      keyOf={({ id }) => id}
      empty={<Empty text={Object.keys(filters).length === 0 ? t.deadLetters.empty : t.states.noMatch} />}
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
