import type { AuditEvent } from '@gatehouse/client'
import { Code, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { usePages } from '../../api/queries.ts'
import { Empty } from '../../parts/states.tsx'
import { type Column, List } from '../../parts/table.tsx'
import { Masked } from '../../parts/values/masked.tsx'
import { Facts, Json, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { gapBefore } from './audit-gap.ts'

/** Which events are listed; each member narrows it. */
export interface AuditFilters {
  readonly type?: string
  readonly actor?: string
  readonly subject?: string
  readonly client_id?: string
  readonly address?: string
  readonly service?: string
  readonly request_id?: string
  readonly since?: string
  readonly until?: string
}

/** Events of the audit trail, newest first. */
export function AuditList({ filters }: { filters: AuditFilters }) {
  const t = useTexts()
  const query = usePages('readAudit', { ...filters, order: 'desc' })
  const empty = Object.keys(filters).length === 0 ? t.audit.empty : t.states.noMatch
  return (
    <>
      <List
        action="readAudit"
        query={query}
        label={t.sections.audit}
        keyOf={({ id }) => id}
        empty={<Empty text={empty} />}
        columns={useColumns()}
      />
      <Removed query={query} since={filters.since} />
    </>
  )
}

function useColumns(): readonly Column<AuditEvent>[] {
  const t = useTexts()
  // The same each time, so that "Show more" draws only the rows that come.
  return useMemo(
    () => [
      { label: t.audit.at, render: ({ at }) => <Time at={at} /> },
      { label: t.audit.type, render: ({ type, action }) => <Code>{action ?? type}</Code> },
      { label: t.audit.actor, render: ({ actor }) => actor },
      { label: t.audit.subject, render: (event) => <Subject event={event} /> },
      { label: t.audit.address, render: ({ address }) => <Masked>{address}</Masked> },
      { label: t.audit.details, render: (event) => <Details event={event} /> },
    ],
    [t],
  )
}

/** What is missing behind the end of the list, and why. */
function Removed({ query: { data, hasNextPage }, since }: { query: AuditPages; since: string | undefined }) {
  const t = useTexts()
  const { removed_before: removedBefore } = (data?.pages.at(-1) ?? {}) as { removed_before?: string }
  const before = gapBefore({ removedBefore, hasNext: hasNextPage, since })
  if (before === undefined) return null
  return (
    <p className="gap-note" role="note">
      {t.audit.removed} <Time at={before} />
    </p>
  )
}

type AuditPages = ReturnType<typeof usePages<'readAudit'>>

/** The screens of what an event may be about, beside users. */
const entitySections: Readonly<Record<string, string>> = {
  client: '/clients/$id',
  notification: '/notifications/$id',
  recipient: '/users/$id',
}

function Subject({ event: { subject, target } }: { event: AuditEvent }) {
  const user = target?.type === 'user' ? target.id : target === undefined ? subject : undefined
  if (user !== undefined)
    return (
      <Link to="/users/$id" params={{ id: user }}>
        {user}
      </Link>
    )
  if (target === undefined) return null
  const section = entitySections[target.type]
  if (section === undefined) return `${target.type} ${target.id}`
  return (
    <Link to={section} params={{ id: target.id }}>
      {target.type} {target.id}
    </Link>
  )
}

function Details({ event }: { event: AuditEvent }) {
  const t = useTexts()
  const { before, after, details, request_id, client_id, role, service } = event
  return (
    <details>
      <summary>{t.common.show}</summary>
      <Stack gap="xs" mt="xs">
        <Facts
          facts={[
            [t.audit.service, service],
            [t.audit.role, role],
            [t.audit.client, client_id],
            [t.audit.request, request_id],
          ]}
        />
        {(before ?? after) !== undefined && (
          <div className="changes">
            <Json label={t.audit.before} value={before ?? {}} />
            <Json label={t.audit.after} value={after ?? {}} />
          </div>
        )}
        {Object.keys(details).length > 0 && <Json label={t.audit.details} value={details} />}
      </Stack>
    </details>
  )
}
