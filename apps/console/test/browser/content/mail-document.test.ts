import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  assert.ok(!knowsDark('<p>dark chocolate</p>'))
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

test('a mail of unclosed tags is shown as quickly as another', () => {
  const started = performance.now()
  for (const tag of ['<meta', '<img', '<meta name=']) mailDocument(tag.repeat(20_000), { scheme: 'dark', images: true })
  assert.ok(performance.now() - started < 3_000)
})
