import type { EventType, TemplateTextSummary } from '@gatehouse/client'
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { InputOf } from '../../../actions/index.ts'
import { usePages, useRead } from '../../api/queries.ts'
import { ranges } from '../../api/range.ts'
import { useMay } from '../../api/session.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { More, Rows } from '../../parts/table.tsx'
import { State } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { type Share, type Shares, shareOf, sharesOf } from '../measure/figures.ts'
import { OthersNote } from '../measure/others-note.tsx'
import { useNumber } from '../measure/parts.tsx'
import type { Channel } from './matrix.ts'

/** How many texts are read to mark those that are missing. */
const maxTexts = 200

/** The event types: how urgent, on which channels, with which texts. */
export function EventTypesScreen() {
  const t = useTexts()
  const may = useMay()
  const [open, setOpen] = useState(false)
  const query = usePages('listEventTypes', { limit: 100 } as InputOf<'listEventTypes'>)
  const texts = useRead('listTemplates', { summary: true, limit: maxTexts })
  const create = may('saveEventType') ? <Button onClick={() => setOpen(true)}>{t.eventTypes.create}</Button> : undefined
  // Beyond one page of texts it is not known which are missing.
  const known = texts.data?.next === undefined ? texts.data?.items : undefined
  return (
    <Page title={t.sections.eventTypes} lead={t.eventTypes.lead} actions={create}>
      <Answer action="listEventTypes" query={query}>
        {({ pages }) => (
          <>
            <OwnAndReserved types={pages.flatMap(({ items }) => items)} texts={known} />
            <More query={query} />
            <Bounds isTextUnknown={texts.data?.next !== undefined} />
          </>
        )}
      </Answer>
      <NewEventType open={open} close={() => setOpen(false)} />
    </Page>
  )
}

interface EventTypeRowsProps {
  readonly types: readonly EventType[]
  /** The texts of the templates; undefined while not all are known. */
  readonly texts: readonly TemplateTextSummary[] | undefined
}

/** The event types of the product, and behind a summary those that the program sends its own messages with. */
function OwnAndReserved({ types, texts }: EventTypeRowsProps) {
  const t = useTexts()
  const own = types.filter(({ reserved }) => reserved !== true)
  const reserved = types.filter((type) => type.reserved === true)
  return (
    <Stack>
      {own.length === 0 ? (
        <Empty text={t.eventTypes.empty} />
      ) : (
        <EventTypeRows label={t.sections.eventTypes} types={own} texts={texts} />
      )}
      {reserved.length > 0 && (
        <details className="panel">
          <summary>{t.eventTypes.reservedTitle(reserved.length)}</summary>
          <Text size="sm" c="dimmed" my="xs">
            {t.eventTypes.reservedText}
          </Text>
          <EventTypeRows label={t.eventTypes.reservedTitle(reserved.length)} types={reserved} texts={texts} />
        </details>
      )}
    </Stack>
  )
}

function EventTypeRows({ label, types, texts }: EventTypeRowsProps & { readonly label: string }) {
  const t = useTexts()
  const volume = useVolume()
  return (
    <Rows
      label={label}
      rows={types}
      keyOf={({ event }) => event}
      columns={[
        { label: t.eventTypes.event, render: (one) => <EventName eventType={one} /> },
        { label: t.eventTypes.priority, render: (one) => <Priority priority={one.priority ?? 'normal'} /> },
        { label: t.eventTypes.channels, render: (one) => <Channels eventType={one} texts={texts} /> },
        {
          label: t.eventTypes.volume,
          render: ({ event }) => volume !== undefined && <Volume of={shareOf(volume, event)} />,
        },
        { label: t.eventTypes.template, render: (one) => <TemplateLink eventType={one} /> },
        { label: t.eventTypes.particular, render: (one) => <Particular eventType={one} /> },
      ]}
    />
  )
}

/** Says which figures and marks are not there, where there are too many to have them all. */
function Bounds({ isTextUnknown }: { isTextUnknown: boolean }) {
  const t = useTexts()
  const volume = useVolume()
  return (
    <>
      {volume !== undefined && <OthersNote shares={volume} />}
      {isTextUnknown && (
        <Text size="sm" c="dimmed" role="note">
          {t.eventTypes.textsUnknown(maxTexts)}
        </Text>
      )}
    </>
  )
}

const sent: ReadonlySet<string | undefined> = new Set(['queued', 'deferred', 'aggregated', 'duplicate'])

/** By event type what came in during a day, and the share of it that was not sent; undefined until it is known. */
function useVolume(): Shares | undefined {
  const may = useMay()
  const now = Math.floor(Date.now() / ranges['1h'].lengthMs) * ranges['1h'].lengthMs
  const from = new Date(now - ranges['24h'].lengthMs).toISOString()
  const query = useRead('readStats', { measure: 'outcomes', by: 'event', from, step: 3_600 }, may('readStats'))
  return useMemo(() => query.data && sharesOf(query.data, 'event', ({ outcome }) => !sent.has(outcome)), [query.data])
}

function Volume({ of }: { of: Share | undefined }) {
  const t = useTexts()
  const number = useNumber()
  const percent = useNumber({ style: 'percent', maximumFractionDigits: 1 })
  if (of === undefined) return <span className="dim">{t.figures.among}</span>
  return (
    <Stack gap={0} align="flex-start">
      <span>{number(of.count)}</span>
      {of.share !== undefined && of.share > 0 && (
        <Text size="xs" c="dimmed">
          {t.eventTypes.notSent(percent(of.share))}
        </Text>
      )}
    </Stack>
  )
}

function EventName({ eventType: { event, title } }: { eventType: EventType }) {
  return (
    <Stack gap={0} align="flex-start">
      <Link to="/event-types/$event" params={{ event }}>
        {event}
      </Link>
      {title !== undefined && (
        <Text size="xs" c="dimmed">
          {title}
        </Text>
      )}
    </Stack>
  )
}

function Priority({ priority }: { priority: string }) {
  const t = useTexts()
  const name = t.priorities[priority as keyof typeof t.priorities] ?? priority
  return <State tone={priority === 'critical' ? 'careful' : 'neutral'}>{name}</State>
}

/** The channels; one without a published text is marked, since nothing can be sent there. */
function Channels({ eventType, texts }: { eventType: EventType; texts: readonly TemplateTextSummary[] | undefined }) {
  const t = useTexts()
  const { event, template_id: id = event, channels } = eventType
  if (channels.length === 0) return <span className="dim">{t.common.none}</span>
  const hasText = (channel: string) =>
    texts === undefined || texts.some((text) => text.template_id === id && text.channel === channel && text.published)
  return (
    <Group gap={6}>
      {channels.map((channel) => {
        const name = t.channels[channel as Channel] ?? channel
        return hasText(channel) ? (
          <span key={channel} className="chip">
            {name}
          </span>
        ) : (
          <State key={channel} tone="bad">
            {t.eventTypes.withoutText(name)}
          </State>
        )
      })}
    </Group>
  )
}

function TemplateLink({ eventType: { event, template_id: id = event } }: { eventType: EventType }) {
  return (
    <Link to="/templates" search={{ q: id }}>
      {id}
    </Link>
  )
}

function Particular({ eventType }: { eventType: EventType }) {
  const t = useTexts()
  const { aggregation, rate_limit: rate, sensitive, reserved } = eventType
  const words = [
    ...(aggregation === undefined ? [] : [t.eventTypes.aggregates]),
    ...(rate === undefined ? [] : [t.eventTypes.limited(rate.limit, rate.per_seconds)]),
    ...(sensitive === true ? [t.eventTypes.isSensitive] : []),
    ...(reserved === true ? [t.eventTypes.isReserved] : []),
  ]
  return (
    <Text size="sm" c="dimmed">
      {words.join(' · ')}
    </Text>
  )
}

/** Asks for the name of an event type, and opens its form. */
function NewEventType({ open, close }: { open: boolean; close: () => void }) {
  const t = useTexts()
  const navigate = useNavigate()
  return (
    <Dialog title={t.eventTypes.create} open={open} close={close}>
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault()
          const event = String(new FormData(submitted.currentTarget).get('event') ?? '').trim()
          close()
          void navigate({ to: '/event-types/$event', params: { event } })
        }}
      >
        <Stack>
          <TextInput
            name="event"
            label={t.eventTypes.event}
            description={t.eventTypes.eventHelp}
            required
            maxLength={200}
            pattern="[^\/\\*]+"
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit">{t.templates.open}</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
