import type { OAuthClient } from '@gatehouse/client'
import { Button, Tabs } from '@mantine/core'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useMay } from '../../../api/session.tsx'
import { useVersioned, type Versioned } from '../../../api/versioned.ts'
import { ShownOnce } from '../../../forms/shown-once.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { Renew } from '../renew.tsx'
import { ClientFailures, ClientGrants } from './client-history.tsx'
import { ClientSettings } from './client-settings.tsx'
import { ClientUse } from './client-use.tsx'

const tabs = ['settings', 'use', 'grants', 'failures'] as const

/** One client: its settings, how it is used, what users granted it, and why it was refused. */
export function ClientScreen() {
  const t = useTexts()
  const may = useMay()
  const { id } = useParams({ strict: false }) as { id: string }
  const [{ tab: chosen }, open] = useFilters(['tab'])
  const [secret, setSecret] = useState<string>()
  const query = useVersioned('readClient', { id })
  const shown = tabs.filter((name) => name !== 'failures' || may('readAudit'))
  const tab = shown.find((name) => name === chosen) ?? 'settings'
  const actions = query.data === undefined ? undefined : <ClientActions shown={query.data} onSecret={setSecret} />
  return (
    <Page title={query.data?.value.client_name ?? id} actions={actions}>
      {secret !== undefined && <ShownOnce title={t.clients.rotated} secret={secret} />}
      <Answer action="readClient" query={query}>
        {({ value: client }) => (
          <Tabs value={tab} onChange={(next) => open({ tab: next ?? 'settings' })} keepMounted={false}>
            <Tabs.List mb="md">
              {shown.map((name) => (
                <Tabs.Tab key={name} value={name}>
                  {t.clients.tabs[name]}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="settings">
              <ClientSettings client={client} />
            </Tabs.Panel>
            <Tabs.Panel value="use">
              <ClientUse client={client} />
            </Tabs.Panel>
            <Tabs.Panel value="grants">
              <ClientGrants id={id} />
            </Tabs.Panel>
            <Tabs.Panel value="failures">
              <ClientFailures id={id} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Answer>
    </Page>
  )
}

/** Whether a client authenticates with a secret. */
function authenticatesWithSecret({ token_endpoint_auth_method: method }: OAuthClient): boolean {
  return method !== 'none' && method !== 'private_key_jwt'
}

interface ClientActionsProps {
  readonly shown: Versioned<OAuthClient>
  readonly onSecret: (secret: string) => void
}

function ClientActions({ shown, onSecret }: ClientActionsProps) {
  const t = useTexts()
  const may = useMay()
  const navigate = useNavigate()
  const { client_id: id } = shown.value
  return (
    <>
      {may('updateClient') && (
        <Button size="xs" variant="default" component={Link} to="/clients/$id/edit" params={{ id } as never}>
          {t.clients.edit}
        </Button>
      )}
      {authenticatesWithSecret(shown.value) && (
        <Renew
          action="rotateSecret"
          id={id}
          shown={shown}
          word={id}
          label={t.clients.rotate}
          onDone={(answer) => onSecret(answer.client_secret)}
        />
      )}
      <Act
        action="deleteClient"
        input={{ id }}
        shown={shown}
        label={t.clients.remove}
        text={t.clients.removeText}
        word={id}
        done={t.clients.removed}
        onDone={() => void navigate({ to: '/clients' })}
      />
    </>
  )
}
