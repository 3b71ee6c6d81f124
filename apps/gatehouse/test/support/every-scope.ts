import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '@gatehouse/testing'
import { type Program, started } from './program.ts'

const secret = 'a-secret-of-the-test-alone-0123456789'
const scopes = `[write:notifications, read:notifications, write:preferences, write:recipients, read:users, read:revocations,
      read:api-keys, admin:notifications, admin:privacy, admin:clients, admin:users, admin:api-keys, admin:keys,
      admin:audit, admin:limits, admin:roles, read:personal-data, reveal:personal-data, read:metrics, write:audit]`
const unlimited = `
tiers: { free: { rpm: 1000000 } }
policies:
  anonymous: { rpm: 1000000 }
  identity: { rpm: 1000000 }
  links: { rpm: 1000000 }
  bad-credentials: { rpm: 1000000 }
`

/** Starts the program with clients that may call every operation, as often as a test needs. */
export async function startWithEveryScope(clientIds: readonly string[], env = {}): Promise<Program> {
  const file = join(temporaryFolder('every-scope'), 'gatehouse.yaml')
  const clients = clientIds.map(
    (id) => `
  - { client_id: ${id}, client_secret: ${secret}, grant_types: [client_credentials], scopes: ${scopes} }`,
  )
  writeFileSync(file, `clients:${clients.join('')}${unlimited}`)
  return started({ env: { GATEHOUSE_CONFIG: file, ...env } })
}

/** A token of such a client, with all of its scopes. */
export async function tokenOf(url: string, clientId: string): Promise<string> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}
