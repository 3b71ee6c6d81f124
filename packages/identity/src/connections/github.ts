import type { Connection } from '../model/connection.ts'
import { type ProviderClaims, UnacceptableProfile } from './profile.ts'
import type { ProviderFetch } from './provider-fetch.ts'

interface GitHubUser {
  readonly id: number
  readonly login?: unknown
  readonly name?: unknown
  readonly avatar_url?: unknown
}

interface GitHubEmail {
  readonly email: string
  readonly primary: boolean
  readonly verified: boolean
}

/**
 * Reads the user of a GitHub token in the form of OpenID Connect claims. The subject is the numeric id: login names can
 * be given up and taken by others.
 */
export async function fetchGitHubClaims(
  send: ProviderFetch,
  { settings }: Connection,
  accessToken: string,
): Promise<ProviderClaims> {
  const api = settings.issuer === undefined ? 'https://api.github.com' : `${settings.issuer}/api/v3`
  const user = (await fetchJson(send, `${api}/user`, accessToken)) as GitHubUser
  const emails = (await fetchJson(send, `${api}/user/emails`, accessToken)) as readonly GitHubEmail[]
  if (!Number.isSafeInteger(user.id)) throw new UnacceptableProfile('the id of the GitHub user is not a number')
  const primary = Array.isArray(emails)
    ? emails.find((one) => one.primary === true && one.verified === true)
    : undefined
  return {
    sub: String(user.id),
    name: user.name ?? user.login,
    picture: user.avatar_url,
    ...(primary === undefined ? {} : { email: primary.email, email_verified: true }),
  }
}

async function fetchJson(send: ProviderFetch, address: string, accessToken: string): Promise<unknown> {
  const { status, body } = await send(address, {
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${accessToken}`,
      'user-agent': 'Gatehouse',
      'x-github-api-version': '2022-11-28',
    },
  })
  if (status !== 200) throw new UnacceptableProfile(`GitHub responded with status ${status}`)
  return JSON.parse(body)
}
