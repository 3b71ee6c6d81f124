import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkFile } from '../vocabulary/check.ts'
import { splitName } from '../vocabulary/match.ts'
import { rows } from '../vocabulary/words.ts'

const problemsOf = (path: string, text: string) => checkFile(path, text, [])

for (const { place, path, text, problem } of [
  {
    place: 'an identifier',
    path: 'src/a.ts',
    text: 'const x = 1\nexport const toldOf = x',
    problem: 'src/a.ts:2: "told" in the name toldOf',
  },
  {
    place: 'a private member',
    path: 'src/a.ts',
    text: 'class A {\n  #leastMs = 1\n}',
    problem: 'src/a.ts:2: "least" in the name leastMs',
  },
  {
    place: 'a property of a type',
    path: 'src/a.ts',
    text: 'interface A {\n  readonly lane: string\n}',
    problem: 'src/a.ts:2: "lane" as name; use priority',
  },
  {
    place: 'a string that is a name',
    path: 'src/a.ts',
    text: "\nexport type State = 'sent' | 'portion-lost'",
    problem: 'src/a.ts:2: "portion" in the name portion-lost',
  },
  {
    place: 'a constant of an environment variable',
    path: 'src/a.ts',
    text: 'process.env.MOST_BYTES',
    problem: 'src/a.ts:1: "most" in the name MOST_BYTES',
  },
  {
    place: 'a name of two words',
    path: 'src/a.ts',
    text: 'lease.giveBack()',
    problem: 'src/a.ts:1: "give back" in the name giveBack; use acquire, lease, release, lock or dispose',
  },
  {
    place: 'a name that ends in over',
    path: 'src/a.ts',
    text: 'const tokenOver = true',
    problem: 'src/a.ts:1: "over" in the name tokenOver; use expired, inactive or revoked',
  },
  {
    place: 'the text of an error',
    path: 'src/a.ts',
    text: 'throw new Error(`${name}: nobody was told`)',
    problem: 'src/a.ts:1: "told" in a text; use record, append',
  },
  {
    place: 'SQL in a string',
    path: 'src/a.ts',
    text: "await query('SELECT id\\nFROM held_grant')",
    problem: '"held" in the sql name held_grant',
  },
  {
    place: 'a column of an SQL file',
    path: 'store/queries/due.sql',
    text: "-- what is told\nSELECT 'told', what\nFROM queue",
    problem: 'store/queries/due.sql:2: "what" as name; use a noun',
  },
  {
    place: 'a Lua file',
    path: 'redis/take.lua',
    text: '-- heal it\nlocal healAt = 1',
    problem: 'redis/take.lua:2: "heal" in the sql name healAt',
  },
  {
    place: 'a file name',
    path: 'src/deliver/still-held.long.test.ts',
    text: '',
    problem: 'src/deliver/still-held.long.test.ts: "held" in the file name still-held',
  },
  {
    place: 'a folder name',
    path: 'src/carriers/index.ts',
    text: '',
    problem: 'src/carriers/index.ts: "carriers" as file name; use provider pool or failover',
  },
  {
    place: 'a document',
    path: 'docs/a.md',
    text: '# A\n\nThe client is told so.',
    problem: 'docs/a.md:3: "told" in a text',
  },
  {
    place: 'a member of JSON',
    path: 'a.json',
    text: '{\n  "description": "Asks Anew"\n}',
    problem: 'a.json:2: "anew" in a text; use expired, invalid',
  },
])
  test(`a word of the list in ${place} is reported with its place and what to use`, () => {
    const problems = problemsOf(path, text)
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.ok(problems.join().includes(problem), problems.join())
  })

test('comments, import specifiers, SQL keywords and plain words in texts are free', () => {
  const source = [
    '// told, asked and given',
    '/** The most that a lane takes. */',
    "import { a } from './told.ts'",
    "export { b } from './told.ts'",
    "const text = 'expected at most 5, given 6: the request was held'",
    'const failover = leftOver',
    "query('SELECT least(a, b), sum(c) OVER (PARTITION BY d) FROM e')",
  ]
  assert.deepEqual(problemsOf('src/a.ts', source.join('\n')), [])
})

test('a name or a word of a text with an exception is allowed, below the path of the exception', () => {
  const exceptions = [
    { name: 'given_name', reason: 'a claim' },
    { name: 'visit', below: 'src/yaml/', reason: 'a function of a library' },
    { name: 'kin', below: 'docs/', reason: 'a name' },
  ]
  assert.deepEqual(checkFile('src/yaml/a.ts', 'visit(given_name)', exceptions), [])
  assert.deepEqual(checkFile('docs/a.md', 'by kin', exceptions), [])
  assert.equal(checkFile('src/a.ts', 'visit(given_name)', exceptions).length, 1)
  assert.equal(checkFile('src/a.ts', 'givenName', exceptions).length, 1)
})

test('every word of the list is found in a name or in a text', () => {
  for (const { names = [], texts = [], sqlNames = [], use } of rows) {
    for (const word of names) assert.match(problemsOf(`${word.replaceAll(' ', '-')}.ts`, '').join(), new RegExp(word))
    for (const word of texts)
      assert.ok(
        problemsOf('a.md', `It is ${word}.`)
          .join()
          .includes(`use ${use.split(',')[0]}`),
      )
    for (const word of sqlNames) assert.ok(problemsOf('a.sql', word).join().includes(use))
  }
})

test('a name is split at humps, underscores, hyphens and dots', () => {
  assert.deepEqual(splitName('#readJSONBody'), ['read', 'json', 'body'])
  assert.deepEqual(splitName('notify_held.MAX-of'), ['notify', 'held', 'max', 'of'])
})

test('a test title of 90 characters is reported, in a template and in a sum too', () => {
  const title = 'x'.repeat(90)
  for (const written of [`'${title}'`, `\`${title}\``, `'${title.slice(40)}' + '${title.slice(50)}'`])
    assert.deepEqual(problemsOf('a.test.ts', `\ntest(${written}, () => {})`), [
      'a.test.ts:2: test title of 90 characters; use at most 89',
    ])
  assert.deepEqual(problemsOf('a.test.ts', `test.skip('${'x'.repeat(89)}', () => {})`), [])
})

test('a Markdown line over 120 columns is reported; tables and long links end at 700', () => {
  const link = `https://example.com/${'a'.repeat(120)}`
  assert.deepEqual(problemsOf('a.md', `${'b'.repeat(120)}\n| ${'c'.repeat(300)} |\n[d](${link})`), [])
  assert.deepEqual(problemsOf('a.md', `\n${'b'.repeat(121)}\n| ${'c'.repeat(700)} |`), [
    'a.md:2: line of 121 columns; wrap it at 120',
    'a.md:3: line of 704 columns; wrap it at 700',
  ])
})
