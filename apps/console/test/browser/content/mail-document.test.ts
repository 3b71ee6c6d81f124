import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { answerColourScheme, holdUrls, knowsDark } from '../../../src/browser/screens/content/preview/colour-scheme.ts'
import { mailDocument } from '../../../src/browser/screens/content/preview/mail-document.ts'

const queries = [
  ['@media (prefers-color-scheme: dark){a{}}', 'dark', '@media (min-width: 0px){a{}}'],
  ['@media (prefers-color-scheme: dark){a{}}', 'light', '@media (max-width: -1px){a{}}'],
  ['@media screen and ( PREFERS-COLOR-SCHEME :light ){}', 'light', '@media screen and (min-width: 0px){}'],
  ['@media not (prefers-color-scheme){}', 'dark', '@media not (min-width: 0px){}'],
  ['a{color:red}', 'dark', 'a{color:red}'],
] as const
for (const [css, scheme, expected] of queries)
  test(`${css} is answered for ${scheme}`, () => {
    assert.equal(answerColourScheme(css, scheme), expected)
  })

test('style sheets load nothing but what is in them', () => {
  assert.equal(
    holdUrls('@import "https://a.example/x.css"; a{background:url("https://b.example/i.png") red}'),
    ' a{background:none red}',
  )
  assert.equal(
    holdUrls('a{background:url(data:image/png;base64,AA==)}'),
    'a{background:url(data:image/png;base64,AA==)}',
  )
})

test('a mail says that it is made for the dark by a query, a property or a meta element', () => {
  assert.ok(knowsDark('<style>@media (prefers-color-scheme: dark){}</style>'))
  assert.ok(knowsDark('<style>:root{color-scheme: light dark}</style>'))
  assert.ok(knowsDark('<meta name="color-scheme" content="light dark">'))
  assert.ok(knowsDark('<meta content="dark" name="supported-color-schemes"><style>a{}</style>'))
  assert.ok(knowsDark('<style media="(prefers-color-scheme: dark)">a{}</style>'))
  assert.ok(knowsDark('<style>a{}</style><STYLE type="text/css">:root{color-scheme : dark}</STYLE >'))
  assert.ok(!knowsDark('<p>dark chocolate</p>'))
  assert.ok(!knowsDark('<p>color-scheme: dark, prefers-color-scheme</p><meta name="color-scheme" content="light">'))
})

test('a picture within a style sheet stays, in quotes and behind blanks too', () => {
  const css = `a{background:url("data:image/png;base64,AA==") red}b{background:url( 'data:image/gif;base64,AA==' )}`
  assert.equal(holdUrls(css), css)
  assert.equal(holdUrls('a{background:url(https://a.example'), 'a{background:none')
})

const logo = '<p><img src="https://cdn.example/logo.png" srcset="https://cdn.example/2x 2x" alt="Logo" width=140></p>'

test('a picture of another host is drawn as its place, or left to its words', () => {
  const shown = mailDocument(logo, { scheme: 'light', images: true })
  assert.match(shown, /<img src="data:image\/svg\+xml,[^"]+" alt="Logo" width=140>/)
  assert.match(mailDocument(logo, { scheme: 'light', images: false }), /<img alt="Logo" width=140>/)
  assert.doesNotMatch(shown, /cdn\.example/)
  const inside = '<img alt="x" src="data:image/png;base64,AA==">'
  assert.ok(mailDocument(inside, { scheme: 'light', images: true }).includes(inside))
})

test('text of a mail that looks like a style is left as it is', () => {
  const html = '<p>Write url(https://a.example) and (prefers-color-scheme: dark)</p>'
  assert.ok(mailDocument(html, { scheme: 'dark', images: true }).includes(html))
})

const fragments = [
  'color-scheme content ',
  'color-scheme: light ',
  '<style>',
  '<style ',
  '<style>@import ',
  '<style></style ',
  '<meta name=color-scheme ',
  '<meta name="color-scheme" content="',
  '<a background="',
  "<a background='<",
  ' media="(prefers-color-scheme:',
  ' style="url(',
  '<img src="',
  '<img srcset= ',
]

/** 256 KiB of a text. */
const manyOf = (text: string) => text.repeat(Math.ceil(262_144 / text.length))

/** What is linear takes a tenth of it, in milliseconds of the processor. */
const maxWorkMs = 1_500

/** Shows a mail, which never waits: the timeout of a test cannot interrupt it where it hangs. */
function showInTime(html: string): void {
  const before = process.threadCpuUsage()
  const work = () => mailDocument(html, { scheme: 'dark', images: true })
  runInNewContext('work()', { work }, { timeout: 10_000 })
  const { user, system } = process.threadCpuUsage(before)
  assert.ok(user + system < maxWorkMs * 1_000, `${(user + system) / 1_000} ms`)
}

for (const fragment of fragments)
  test(`a mail of many times ${JSON.stringify(fragment)} is shown as quickly as another`, { timeout: 60_000 }, () => {
    const repeated = manyOf(fragment)
    for (const html of [repeated, `<style>${repeated}</style>`, `<meta ${repeated}>`, `<img ${repeated}>`])
      showInTime(html)
  })

for (const unit of ['url(', 'url( ', '@import ', '(prefers-color-scheme ', '(', ' ', 'color-scheme', 'color-scheme:'])
  test(`a style sheet of many times "${unit}" is shown as quickly as another`, { timeout: 60_000 }, () => {
    const repeated = manyOf(unit)
    for (const css of [repeated, `url(${repeated}`, `color-scheme${repeated}`, `(prefers-color-scheme:${repeated}`])
      showInTime(`<style>${css}</style>`)
  })

test('a mail of unclosed tags is shown as quickly as another', () => {
  const started = performance.now()
  for (const tag of ['<meta', '<img', '<meta name=']) mailDocument(tag.repeat(20_000), { scheme: 'dark', images: true })
  assert.ok(performance.now() - started < 3_000)
})
