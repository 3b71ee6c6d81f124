import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { StartError } from '@gatehouse/kit'
import { brandingFrom } from '@gatehouse/kit/page'
import { type Running, setup } from '../support/setup.ts'

const folder = mkdtempSync(join(tmpdir(), 'texts-'))
after(() => rmSync(folder, { recursive: true }))

let running: Running
before(async () => {
  writeFileSync(join(folder, 'fr.json'), JSON.stringify({ 'login.title': 'Connexion', 'login.submit': 'Se connecter' }))
  writeFileSync(join(folder, 'de.json'), JSON.stringify({ 'login.title': 'Willkommen' }))
  running = await setup({
    branding: {
      name: 'Acme & Söhne',
      logoUrl: 'https://cdn.acme.example/logo.svg',
      colour: '#ffee00',
      colourDark: '#102030',
      textsFolder: pathToFileURL(`${folder}/`),
    },
  })
})
after(() => running.close())

const page = (language: string) => running.http.inject({ url: '/account', headers: { 'accept-language': language } })

test('pages show the configured name, logo and colours', async () => {
  const { payload, headers } = await page('en')
  assert.match(payload, /<title>[^<]+ · Acme &amp; Söhne<\/title>/)
  assert.match(payload, /<img src="https:\/\/cdn\.acme\.example\/logo\.svg" alt="Acme &amp; Söhne">/)
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /img-src 'self' https:\/\/cdn\.acme\.example;/, 'the logo is the only external image')
  const style = (await running.http.inject('/pages/style.css')).payload
  assert.match(style, /--accent: #ffee00; --on-accent: #000000;/, 'dark text on a light button')
  assert.match(style, /--accent: #102030; --on-accent: #ffffff;/)
})

test('a text file adds a language, and missing texts fall back to English', async () => {
  const { payload } = await page('fr-CA, en;q=0.5')
  assert.match(payload, /<html lang="fr">/)
  assert.match(payload, /<h1>Connexion<\/h1>/)
  assert.match(payload, /Se connecter/)
  assert.match(payload, /Password/)
  const metadata = (await running.http.inject('/.well-known/openid-configuration')).json()
  assert.deepEqual(new Set(metadata.ui_locales_supported), new Set(['en', 'de', 'fr']))
})

test('a text file overrides built-in texts one by one', async () => {
  const { payload } = await page('de')
  assert.match(payload, /<h1>Willkommen<\/h1>/)
  assert.match(payload, /Passwort/)
})

test('an invalid colour or logo is rejected at start', () => {
  for (const wrong of [{ colour: 'red' }, { colourDark: '#12345' }, { logoUrl: 'http://acme.example/logo.svg' }]) {
    assert.throws(() => brandingFrom(wrong), StartError)
  }
})
