import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type SnippetLanguage, snippetLanguages, writeSnippet } from '../../src/browser/snippets/snippet.ts'

const addresses = { issuer: 'https://login.example.com', baseUrl: 'https://api.example.com' }
const client = { kind: 'client', id: 'shop', scopes: ['read:users'] } as const
const getUser = { operation: 'users.getPlan', input: { id: 'alice' } } as const

const fences: Readonly<Record<SnippetLanguage, string>> = {
  curl: 'sh',
  TypeScript: 'ts',
  Python: 'python',
  Go: 'go',
  Java: 'java',
  PHP: 'php',
  'C#': 'csharp',
}

test('the documentation shows the same snippets as the console', () => {
  const text = readFileSync(new URL('../../../../docs/sdk.md', import.meta.url), 'utf8')
  for (const language of snippetLanguages) {
    const snippet = writeSnippet(language, { ...addresses, credential: client, call: getUser })
    assert.ok(text.includes(`\`\`\`${fences[language]}\n${snippet}\`\`\``), `${language}:\n${snippet}`)
  }
})

for (const language of snippetLanguages) {
  test(`a snippet for ${language} reads its secret from the environment`, () => {
    const byClient = writeSnippet(language, { ...addresses, credential: client, call: getUser })
    const byKey = writeSnippet(language, { ...addresses, credential: { kind: 'api-key' }, call: getUser })
    assert.match(byClient, /GATEHOUSE_CLIENT_SECRET/)
    assert.match(byKey, /GATEHOUSE_API_KEY/)
    assert.doesNotMatch(byKey, /GATEHOUSE_CLIENT_SECRET/)
  })

  test(`a snippet for ${language} gets a token alone when there is nothing to call`, () => {
    const snippet = writeSnippet(language, { ...addresses, credential: client })
    assert.ok(snippet.includes('https://login.example.com/token'))
    assert.ok(!snippet.includes('https://api.example.com'))
  })
}

test('a path parameter is encoded, and one that is missing is named', () => {
  const call = (input: object) => ({ operation: 'users.getPlan', input: input as Record<string, unknown> }) as const
  const request = { ...addresses, credential: client }
  assert.ok(writeSnippet('curl', { ...request, call: call({ id: 'a/b c' }) }).includes('/users/a%2Fb%20c'))
  assert.throws(() => writeSnippet('curl', { ...request, call: call({}) }), /needs id/)
})

test('a snippet for Java is ASCII, whatever is sent', () => {
  const call = { operation: 'users.create', input: { id: 'ü', claims: { nickname: 'ü 🎉' } } } as const
  const snippet = writeSnippet('Java', { ...addresses, credential: client, call })
  assert.match(snippet, /^[\n -~]*$/)
  assert.ok(snippet.includes(String.raw`\u00fc \ud83c\udf89`))
})
