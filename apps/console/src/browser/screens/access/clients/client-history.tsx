import type { AuditEvent } from '@gatehouse/client'
import { Group, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { usePages, useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { List, Rows } from '../../../parts/table.tsx'
import { State, Time, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** What users granted a client and is in force. */
export function ClientGrants({ id }: { id: string }) {
  const t = useTexts()
  const query = usePages('listClientGrants', { id })
  return (
    <List
      action="listClientGrants"
      query={query}
      label={t.clients.tabs.grants}
      keyOf={(grant) => grant.id}
      empty={<Empty text={t.clients.noGrants} />}
      columns={[
        {
          label: t.users.id,
          render: ({ user_id: user }) => (
            <Link to="/users/$id" params={{ id: user }}>
              {user}
            </Link>
          ),
        },
        { label: t.clients.scopes, render: ({ scopes }) => <Words values={scopes} /> },
        { label: t.clients.granted, render: (grant) => <Time at={grant.created_at} /> },
        { label: t.clients.until, render: (grant) => <Time at={grant.expires_at} /> },
      ]}
    />
  )
}

const failuresRead = 200

/** Why a client was refused lately, by reason and one by one. */
export function ClientFailures({ id }: { id: string }) {
  const t = useTexts()
  const filters = { type: 'client_authentication_failed', client_id: id, order: 'desc', limit: failuresRead } as const
  const query = useRead('readAudit', filters)
  return (
    <Answer action="readAudit" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.clients.noFailures} />
        ) : (
          <Stack>
            <Group gap="xs">
              {[...countReasons(items)].map(([reason, count]) => (
                <State key={reason} tone="bad">
                  {`${reason}: ${count}`}
                </State>
              ))}
            </Group>
            <Rows
              label={t.clients.tabs.failures}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                { label: t.audit.at, render: ({ at }) => <Time at={at} /> },
                { label: t.clients.reason, render: (event) => <code>{reasonOf(event)}</code> },
                { label: t.audit.details, render: ({ details }) => String(details.detail ?? '') },
                { label: t.audit.address, render: ({ address }) => address },
              ]}
            />
          </Stack>
        )
      }
    </Answer>
  )
}

function reasonOf({ details }: AuditEvent): string {
  return String(details.check ?? 'unknown')
}

function countReasons(events: readonly AuditEvent[]): ReadonlyMap<string, number> {
  const byReason = Map.groupBy(events, reasonOf)
  return new Map([...byReason].map(([reason, some]) => [reason, some.length]))
}
