import { PreconditionFailedError } from '@gatehouse/client'
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ItemOf } from '../../../../actions/index.ts'
import { usePages } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { useChange, useVersioned } from '../../../api/versioned.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { WaitingState } from './waiting-state.tsx'

type Scheduled = ItemOf<'listScheduled'>

interface ScheduledFilters {
  readonly event?: string
  readonly user_id?: string
}

/** Events for later, the soonest first, which are moved and cancelled. */
export function ScheduledList({ filters }: { filters: ScheduledFilters }) {
  const t = useTexts()
  const query = usePages('listScheduled', filters)
  return (
    <List
      action="listScheduled"
      query={query}
      label={t.scheduled.kinds.scheduled}
      keyOf={({ id }) => id}
      empty={<Empty text={Object.keys(filters).length === 0 ? t.scheduled.empty.scheduled : t.states.noMatch} />}
      columns={[
        { label: t.scheduled.due, render: ({ fire_at }) => <Time at={fire_at} /> },
        { label: t.scheduled.event, render: ({ payload }) => String(payload.event) },
        { label: t.scheduled.user, render: ({ payload }) => <UserLink id={String(payload.user_id)} /> },
        {
          label: t.scheduled.state,
          render: ({ fire_at, under_way, failures }) => (
            <WaitingState dueAt={fire_at} isUnderWay={under_way} failures={failures} />
          ),
        },
        { label: t.common.actions, isAction: true, render: (scheduled) => <Actions scheduled={scheduled} /> },
      ]}
    />
  )
}

/** A link to a user. */
export function UserLink({ id }: { id: string }) {
  return (
    <Link to="/users/$id" params={{ id }}>
      {id}
    </Link>
  )
}

function Actions({ scheduled: { id, fire_at, payload } }: { scheduled: Scheduled }) {
  const t = useTexts()
  const about = `${payload.event} ${payload.user_id}`
  return (
    <>
      <Move id={id} fireAt={fire_at} about={about} />
      <Act
        action="cancelScheduled"
        input={{ id }}
        label={t.scheduled.cancel}
        about={about}
        text={t.scheduled.cancelText}
        done={t.scheduled.cancelled}
      />
    </>
  )
}

function Move({ id, fireAt, about }: { id: string; fireAt: string; about: string }) {
  const t = useTexts()
  const may = useMay()
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(localTime(fireAt))
  /** When it fires, as the list showed it to whoever opened the dialog. */
  const [seen, setSeen] = useState(fireAt)
  const current = useVersioned('readScheduled', { id }, isOpen)
  const mutation = useChange('moveScheduled')
  const isTold = mutation.error instanceof PreconditionFailedError
  if (!may('moveScheduled')) return null
  const open = () => {
    mutation.reset()
    setSeen(fireAt)
    setOpen(true)
  }
  // What was read for the dialog is not what the person saw, unless the dialog tells it.
  const isSeen = isTold || current.data?.value.fire_at === seen
  const ifMatch = isSeen ? current.data?.etag : '"as the person saw it"'
  return (
    <>
      <Button size="xs" variant="default" onClick={open} aria-label={`${t.scheduled.move}: ${about}`}>
        {t.scheduled.move}
      </Button>
      <Dialog title={t.scheduled.moveTitle} open={isOpen} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            const done = () => {
              setOpen(false)
              notifications.show({ message: t.scheduled.moved, color: 'green' })
            }
            const onError = (error: Error) => error instanceof PreconditionFailedError && void current.refetch()
            const input = { id, fire_at: new Date(at).toISOString() }
            mutation.mutate({ input, ifMatch }, { onSuccess: done, onError })
          }}
        >
          <Stack>
            <TextInput
              type="datetime-local"
              label={t.scheduled.moveTo}
              value={at}
              onChange={(event) => setAt(event.currentTarget.value)}
              required
              data-autofocus
            />
            {isTold && current.data !== undefined && (
              <Text size="sm">
                {t.scheduled.movedMeanwhile} <Time at={current.data.value.fire_at} />
              </Text>
            )}
            <Refusal error={isTold ? null : mutation.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setOpen(false)}>
                {t.common.cancel}
              </Button>
              <Button type="submit" loading={mutation.isPending} disabled={current.data === undefined}>
                {t.scheduled.move}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}

/** A moment as an input of local time has it. */
function localTime(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
