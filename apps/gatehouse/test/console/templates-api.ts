import assert from 'node:assert/strict'
import type { Program } from '../support/program.ts'

/** A token of the demo client, which manages notifications and sends them. */
export async function managementToken(program: Program): Promise<string> {
  const secret = /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail('no secret was printed')
  const scope = 'admin:notifications write:notifications'
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope })
  const authorization = `Basic ${Buffer.from(`demo:${secret}`).toString('base64')}`
  const answer = await fetch(`${program.url}/token`, { method: 'POST', body, headers: { authorization } })
  return ((await answer.json()) as { access_token: string }).access_token
}

/** The texts of what was sent, the newest first. */
export async function readMailbox(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/dev/mailbox`, { headers: { accept: 'application/json' } })
  const { messages } = (await answer.json()) as { messages: { body?: string; content?: { body: string } }[] }
  return messages.map((message) => message.body ?? message.content?.body ?? '')
}
