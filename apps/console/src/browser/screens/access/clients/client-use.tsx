import type { OAuthClient } from '@gatehouse/client'
import { Anchor, Stack, Text, Title } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useSession } from '../../../api/session.tsx'
import { Snippet } from '../../../parts/values/snippet.tsx'
import { Facts, Id } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { isUserScope, signInLink } from './sign-in-link.ts'

const endpoints = [
  ['discovery', '/.well-known/openid-configuration'],
  ['authorization', '/authorize'],
  ['token', '/token'],
  ['device', '/device_authorization'],
  ['par', '/par'],
  ['userinfo', '/userinfo'],
  ['introspection', '/introspect'],
  ['revocation', '/revoke'],
  ['endSession', '/end_session'],
  ['jwks', '/.well-known/jwks.json'],
] as const

/** How a client is used: the addresses that it needs, a program that gets a token, and a sign-in to try. */
export function ClientUse({ client }: { client: OAuthClient }) {
  const t = useTexts()
  const { issuer, api_url: baseUrl } = useSession()
  const { client_id: id, grant_types: grants = [], scopes = [] } = client
  const own = scopes.filter((scope) => !isUserScope(scope))
  return (
    <Stack>
      {grants.includes('client_credentials') && client.token_endpoint_auth_method !== 'private_key_jwt' && (
        <section className="panel" aria-label={t.clients.getToken}>
          <Title order={2} size="h4" mb="sm">
            {t.clients.getToken}
          </Title>
          <Snippet request={{ issuer, baseUrl, credential: { kind: 'client', id, scopes: own } }} />
        </section>
      )}
      {grants.includes('authorization_code') && <TestSignIn client={client} />}
      <section className="panel" aria-label={t.clients.endpoints}>
        <Title order={2} size="h4" mb="sm">
          {t.clients.endpoints}
        </Title>
        <Facts
          facts={[
            [t.clients.issuer, <Id key="issuer" value={issuer} />],
            ...endpoints.map(([name, path]) => {
              const address = `${issuer}${path}`
              return [t.clients.endpoint[name], <Id key={name} value={address} />] as const
            }),
          ]}
        />
      </section>
    </Stack>
  )
}

function TestSignIn({ client }: { client: OAuthClient }) {
  const t = useTexts()
  const { issuer } = useSession()
  const [link, setLink] = useState<string>()
  useEffect(() => {
    let current = true
    void signInLink(issuer, client).then((made) => current && setLink(made))
    return () => {
      current = false
    }
  }, [issuer, client])
  return (
    <section className="panel" aria-label={t.clients.testSignIn}>
      <Title order={2} size="h4" mb="sm">
        {t.clients.testSignIn}
      </Title>
      <Text size="sm" mb="sm">
        {client.require_pushed_authorization_requests ? t.clients.testPushed : t.clients.testText}
      </Text>
      {link !== undefined && (
        <Anchor href={link} target="_blank" rel="noopener noreferrer">
          {t.clients.testOpen}
        </Anchor>
      )}
    </section>
  )
}
