import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from '@gatehouse/testing'
import { Languages } from '../../src/page/texts.ts'

function languages(): Languages {
  const folder = temporaryFolder('languages')
  for (const name of ['en', 'de', 'pt-br']) writeFileSync(join(folder, `${name}.json`), '{}')
  return new Languages(pathToFileURL(`${folder}/`))
}

test('the language is that of ui_locales, else of the browser, by whole parts of a tag', () => {
  const all = languages()
  const chosen = (uiLocales?: string, header?: string) => all.choose(uiLocales, header).locale
  assert.equal(chosen('fr pt-BR-x-y de', 'en'), 'pt-br')
  assert.equal(chosen('fr', 'fr;q=1, de-AT;q=0.5, en;q=0.1'), 'de')
  assert.equal(chosen(undefined, 'debian'), 'en')
})

// To look up each part of it with all that is before would take hours.
test('a wish as long as nobody has is looked at in no time', { timeout: 60_000 }, () => {
  assert.equal(languages().choose('-'.repeat(2_000_000), undefined).locale, 'en')
  assert.equal(languages().choose(undefined, '-'.repeat(2_000_000)).locale, 'en')
})
