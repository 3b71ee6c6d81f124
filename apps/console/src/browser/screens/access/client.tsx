import type { OAuthClient } from '@gatehouse/client'
import { Alert, Code, Stack } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { Act } from '../../parts/act.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { Facts, Id, State, Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { shortGrant } from './clients.tsx'

/** One client: how it is registered, its secret and its end. */
export function ClientScreen() {
  const t = useTexts()
  const { id } = useParams({ strict: false }) as { id: string }
  const [secret, setSecret] = useState<string>()
  const query = useRead('readClient', { id })
  const actions = query.data === undefined ? undefined : <ClientActions client={query.data} onSecret={setSecret} />
  return (
    <Page title={query.data?.client_name ?? id} actions={actions}>
      {secret !== undefined && (
        <Alert color="green" title={t.clients.rotated} role="status">
          <Id value={secret}>
            <Code>{secret}</Code>
          </Id>
        </Alert>
      )}
      <Answer action="readClient" query={query}>
        {(client) => <ClientFacts client={client} />}
      </Answer>
    </Page>
  )
}

function ClientActions({ client, onSecret }: { client: OAuthClient; onSecret: (secret: string) => void }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { client_id: id, token_endpoint_auth_method: method } = client
  const hasSecret = method !== 'none' && method !== 'private_key_jwt'
  return (
    <>
      {hasSecret && (
        <Act
          action="rotateSecret"
          input={{ id }}
          label={t.clients.rotate}
          text={t.clients.rotateText}
          word={id}
          done={t.common.done}
          onDone={(answer) => onSecret(answer.client_secret)}
        />
      )}
      <Act
        action="deleteClient"
        input={{ id }}
        label={t.clients.remove}
        text={t.clients.removeText}
        word={id}
        done={t.clients.removed}
        onDone={() => void navigate({ to: '/clients' })}
      />
    </>
  )
}

function ClientFacts({ client }: { client: OAuthClient }) {
  const t = useTexts()
  const yesNo = (value: boolean | undefined) => (value ? t.common.yes : t.common.no)
  const words = (values: readonly string[] | undefined) => values?.length && <Words values={values} />
  return (
    <Stack className="panel">
      <Facts
        facts={[
          [t.users.id, <Id key="id" value={client.client_id} />],
          [t.clients.method, client.token_endpoint_auth_method ?? t.clients.anyMethod],
          [t.clients.grants, words(client.grant_types?.map(shortGrant)) || undefined],
          [t.clients.redirects, words(client.redirect_uris) || undefined],
          [t.clients.afterLogout, words(client.post_logout_redirect_uris) || undefined],
          [t.clients.logout, client.backchannel_logout_uri],
          [t.clients.plan, client.plan],
          [t.clients.pkce, yesNo(client.require_pkce !== false)],
          [t.clients.par, yesNo(client.require_pushed_authorization_requests)],
          [t.clients.consent, yesNo(client.skip_consent)],
          [t.users.created, <Time key="created" at={client.created_at} />],
          [t.users.updated, <Time key="updated" at={client.updated_at} />],
        ]}
      />
      <Facts facts={[[t.clients.scopes, <Words key="scopes" values={client.scopes ?? []} />]]} />
      {client.require_pkce === false && <State tone="careful">{t.clients.noPkce}</State>}
    </Stack>
  )
}
