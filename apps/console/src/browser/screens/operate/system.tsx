import { Button, CopyButton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { callConsole } from '../../api/call.ts'
import type { Page as ListPage } from '../../api/queries.ts'
import type { ServiceStatus } from '../../api/records.ts'
import { useSession } from '../../api/session.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { Facts, State, Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

const refreshMs = 10_000

/** How the services are, and what the person may do. */
export function SystemScreen() {
  const t = useTexts()
  const session = useSession()
  const query = useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => callConsole<ListPage<ServiceStatus>>('GET', '/status', signal),
    refetchInterval: refreshMs,
  })
  const diagnosis = JSON.stringify({ at: new Date().toISOString(), services: query.data?.items }, undefined, 2)
  return (
    <Page
      title={t.sections.system}
      lead={t.system.lead}
      actions={
        <CopyButton value={diagnosis}>
          {({ copied, copy }) => (
            <Button variant="default" onClick={copy}>
              {copied ? t.common.copied : t.system.copy}
            </Button>
          )}
        </CopyButton>
      }
    >
      <Answer action="whoAmI" query={query}>
        {({ items }) => <Services items={items} />}
      </Answer>
      <Stack component="section" className="panel" aria-label={t.system.you}>
        <Facts
          facts={[
            [t.system.you, session.user],
            [t.users.roles, <Words key="roles" values={session.roles} />],
            [t.system.until, <Time key="until" at={session.expires_at} />],
          ]}
        />
        <Facts facts={[[t.system.scopes, <Words key="scopes" values={session.scopes} />]]} />
      </Stack>
    </Page>
  )
}

function Services({ items }: { items: readonly ServiceStatus[] }) {
  const t = useTexts()
  return (
    <Rows
      label={t.sections.system}
      rows={items}
      keyOf={({ service }) => service}
      columns={[
        { label: t.system.service, render: ({ service }) => service },
        { label: t.system.status, render: ({ status }) => <Status status={status} /> },
        {
          label: t.system.engines,
          render: ({ engines }) => <Words values={Object.entries(engines).map(([name, is]) => `${name}: ${is}`)} />,
        },
      ]}
    />
  )
}

function Status({ status }: { status: string }) {
  const t = useTexts()
  const tone = status === 'ready' ? 'good' : status === 'degraded' ? 'careful' : 'bad'
  return <State tone={tone}>{status === 'unreachable' ? t.system.unreachable : status}</State>
}
