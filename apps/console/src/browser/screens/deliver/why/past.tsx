import { Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { DeliveryStates } from '../delivery-state.tsx'

interface PastProps {
  readonly event: string
  readonly user: string
  readonly isEventKnown: boolean
}

const shown = 5

/** What the user got of the event before; where that is nothing, likely causes, each with what can be checked from here. */
export function Past({ event, user, isEventKnown }: PastProps) {
  const t = useTexts()
  const query = useRead('listNotifications', { user_id: user, event, limit: shown })
  return (
    <Stack component="section" className="panel" gap="sm">
      <Title order={2}>{t.why.past}</Title>
      <Answer action="listNotifications" query={query}>
        {({ items, searched_until: until, complete }) => (
          <>
            {items.length === 0 && <Text size="sm">{t.why.noPast}</Text>}
            <ol className="past">
              {items.map(({ id, accepted_at: at, deliveries }) => (
                <li key={id}>
                  <Link to="/notifications/$id" params={{ id }}>
                    <Time at={at} />
                  </Link>
                  <DeliveryStates deliveries={deliveries} />
                </li>
              ))}
            </ol>
            {!complete && items.length < shown && (
              <Text size="xs" c="dimmed">
                {t.why.searchedUntil} <Time at={until} />
              </Text>
            )}
            {items.length === 0 && <Causes user={user} isEventKnown={isEventKnown} />}
          </>
        )}
      </Answer>
    </Stack>
  )
}

/** Why there may be nothing to find, with what is known from here. */
function Causes({ user, isEventKnown }: { user: string; isEventKnown: boolean }) {
  const t = useTexts()
  const recipient = useRead('readRecipient', { user_id: user })
  const others = useRead('listNotifications', { user_id: user, limit: shown })
  const isKnown = recipient.data !== undefined
  return (
    <div>
      <Text size="sm" fw={600}>
        {t.why.likely}
      </Text>
      <ul className="causes">
        <Cause title={t.why.checkUser} isRuledOut={isKnown}>
          {isKnown ? t.why.userKnown : t.why.userUnknown}
        </Cause>
        <Cause title={t.why.checkRefused} isRuledOut={false}>
          {isEventKnown && t.why.eventKnown} {t.why.refused}
        </Cause>
        {others.data !== undefined && (
          <Cause title={t.why.checkOthers} isRuledOut={others.data.items.length > 0}>
            {t.why.otherEvents(others.data.items.length)}{' '}
            {others.data.items.length > 0 && (
              <Link to="/notifications" search={{ user_id: user } as never}>
                {t.sections.notifications}
              </Link>
            )}
          </Cause>
        )}
        <Cause title={t.why.checkInstance} isRuledOut={false}>
          {t.why.instance(window.location.host)}
        </Cause>
      </ul>
    </div>
  )
}

interface CauseProps {
  readonly title: string
  readonly isRuledOut: boolean
  readonly children: ReactNode
}

function Cause({ title, isRuledOut, children }: CauseProps) {
  const t = useTexts()
  return (
    <li>
      <Group gap="xs">
        <strong>{title}</strong>
        <State tone={isRuledOut ? 'good' : 'careful'}>{isRuledOut ? t.why.ruledOut : t.why.possible}</State>
      </Group>
      <Text size="sm">{children}</Text>
    </li>
  )
}
