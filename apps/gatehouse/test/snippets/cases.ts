import assert from 'node:assert/strict'
import { type SnippetLanguage, snippetLanguages, writeSnippet } from '../../../console/src/browser/snippets/snippet.ts'
import { demoSecret } from '../support/demo-client.ts'
import type { Program } from '../support/program.ts'
import { runSnippet } from './run.ts'

/** The languages whose programs need nothing but what every checkout has. */
export const everywhere: readonly SnippetLanguage[] = ['curl', 'TypeScript', 'Python']
/** The languages that need a toolchain. */
export const compiled = snippetLanguages.filter((language) => !everywhere.includes(language))

const difficult = `"it's" \\ $HOME \`x\` ü 🎉 \n %s {0}`

/** Runs the snippets of a language against a program: a token, a read, a write whose text is difficult, and an API key. */
export async function tryLanguage(language: SnippetLanguage, program: Program): Promise<void> {
  const addresses = { issuer: program.url, baseUrl: program.url }
  const secrets = { GATEHOUSE_CLIENT_SECRET: demoSecret(program) }
  const client = (...scopes: string[]) => ({ kind: 'client', id: 'demo', scopes }) as const
  const byClient = (request: Omit<Parameters<typeof writeSnippet>[1], 'issuer' | 'baseUrl'>) =>
    runSnippet(language, writeSnippet(language, { ...addresses, ...request }), secrets)

  const token = JSON.parse(await byClient({ credential: client('read:users') })) as Record<string, unknown>
  assert.deepEqual([token.token_type, token.scope], ['Bearer', 'read:users'])

  const plan = await byClient({
    credential: client('read:users'),
    call: { operation: 'users.getPlan', input: { id: 'alice' } },
  })
  assert.deepEqual(JSON.parse(plan), { id: 'alice', plan: 'free' })

  const claims = { nickname: difficult }
  const id = `user-of-${language.replace('#', 'sharp')}`
  await byClient({ credential: client('admin:users'), call: { operation: 'users.create', input: { id, claims } } })
  const made = await byClient({
    credential: client('admin:users', 'admin:privacy'),
    call: { operation: 'users.get', input: { id } },
  })
  assert.deepEqual((JSON.parse(made) as { claims: object }).claims, claims)

  const key = await byClient({
    credential: client('admin:api-keys', 'read:users'),
    call: { operation: 'apiKeys.create', input: { owner: id, name: difficult.trim(), scopes: ['read:users'] } },
  })
  const byKey = writeSnippet(language, {
    ...addresses,
    credential: { kind: 'api-key' },
    call: { operation: 'users.getPlan', input: { id } },
  })
  const GATEHOUSE_API_KEY = (JSON.parse(key) as { key: string }).key
  assert.deepEqual(JSON.parse(await runSnippet(language, byKey, { GATEHOUSE_API_KEY })), { id, plan: 'free' })
}
