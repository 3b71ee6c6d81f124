import assert from 'node:assert/strict'
import type { Program } from './program.ts'

/** The secret of the demo client, which the first run printed. */
export function demoSecret(program: Pick<Program, 'stdout'>): string {
  return /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail(program.stdout())
}

/** A token of the demo client. */
export async function demoToken(program: Pick<Program, 'stdout' | 'url'>, scope: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`demo:${demoSecret(program)}`).toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope })
  const answer = await fetch(`${program.url}/token`, { method: 'POST', body, headers: { authorization } })
  return ((await answer.json()) as { access_token: string }).access_token
}

/** Calls the API as the demo client. Fails unless it is accepted. */
export async function callAsDemo(
  program: Pick<Program, 'stdout' | 'url'>,
  scope: string,
  { method, path, body }: { method: string; path: string; body: object },
): Promise<unknown> {
  const token = await demoToken(program, scope)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${program.url}${path}`, { method, headers, body: JSON.stringify(body) })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path} ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
