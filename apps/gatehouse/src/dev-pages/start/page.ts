import { type Html, html, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import { type DevSite, linkedPlaces } from '../site.ts'
import type { FirstCall } from './calls.ts'

/** What runs, for the page and for programs. */
export interface Running {
  readonly version: string
  readonly services: readonly string[]
  /** Our services in other processes, by name. */
  readonly elsewhere: Readonly<Record<string, string>>
  readonly baseUrl: string
  readonly authUrl: string
  readonly metricsUrl: string
  /** What data and counters are kept in, in words. */
  readonly database: string
  readonly counters: string
  /** What each engine answers: `ok`, or why not. */
  readonly engines: Readonly<Record<string, string>>
}

/** What the page offers to paste. */
export interface Offer {
  readonly calls: readonly FirstCall[]
  /** Whether the secret in the calls is not known any more, but a new one can be made. */
  readonly renewable: boolean
}

/** The start page. */
export function startPage(texts: Texts, site: DevSite, running: Running, offer: Offer): PageAnswer {
  const title = texts.say('start.title')
  const healthy = Object.values(running.engines).every((answer) => answer === 'ok')
  return {
    title,
    site: site.bar(texts, '/'),
    styles: ['start.css'],
    script: 'copy.js',
    body: html`<div class="hero"><h1>${title}</h1>
<p class="lead">${texts.say('start.lead', { version: running.version })} <span class="health ${healthy ? 'good' : 'wrong'}">${texts.say(healthy ? 'start.healthy' : 'start.unhealthy')}</span></p></div>
${places(texts, site)}
<div class="facts">${servicesPanel(texts, running)}${enginesPanel(texts, running)}${addressesPanel(texts, running)}</div>
${offer.calls.length > 0 && callsSection(texts, offer)}`,
  }
}

/** The other pages, each with what it is for. */
function places(texts: Texts, { places }: DevSite): Html {
  const others = linkedPlaces(places).filter(([name]) => name !== 'start')
  return html`<ul class="places">${others.map(
    ([name, href]) =>
      html`<li><a class="panel" href="${href}"><strong>${texts.say(`site.${name}`)}</strong><span>${texts.say(`start.place.${name}`)}</span></a></li>
`,
  )}</ul>`
}

function servicesPanel(texts: Texts, { services, elsewhere }: Running): Html {
  const rows = ['identity', 'notify', 'gateway'].map((name) => {
    const here = services.includes(name)
    const state = here ? texts.say('start.here') : (elsewhere[name] ?? texts.say('start.off'))
    return html`<li class="${here || elsewhere[name] !== undefined ? 'on' : 'off'}"><div><strong>${texts.say(`start.service.${name}`)}</strong><span class="soft">${texts.say(`start.service.${name}.lead`)}</span></div><span class="state">${state}</span></li>
`
  })
  return html`<section class="panel"><h2>${texts.say('start.services')}</h2><ul class="checks">${rows}</ul></section>
`
}

/** Engines whose place is named, so that their answer is of interest only when there is none. */
const describedEngines: ReadonlySet<string> = new Set(['database', 'counters'])

function enginesPanel(texts: Texts, { database, counters, engines }: Running): Html {
  const others = Object.entries(engines).filter(([name, answer]) => answer !== 'ok' || !describedEngines.has(name))
  const answers = others.map(
    ([name, answer]) =>
      html`<dt>${name}</dt><dd>${answer === 'ok' ? texts.say('start.answers') : html`<strong class="wrong">${texts.say('start.silent')}</strong>`}</dd>`,
  )
  return html`<section class="panel"><h2>${texts.say('start.engines')}</h2>
<dl><dt>${texts.say('start.data')}</dt><dd>${database}</dd><dt>${texts.say('start.counters')}</dt><dd>${counters}</dd>${answers}</dl></section>
`
}

function addressesPanel(texts: Texts, { baseUrl, authUrl, metricsUrl, services }: Running): Html {
  const rows = [
    ['api', baseUrl, `${baseUrl}/openapi.json`],
    ...(services.includes('identity') ? [['issuer', authUrl, `${authUrl}/.well-known/openid-configuration`]] : []),
    ['ready', `${baseUrl}/readyz`, `${baseUrl}/readyz`],
    ['metrics', metricsUrl, undefined],
  ] as const
  return html`<section class="panel"><h2>${texts.say('start.addresses')}</h2>
<dl>${rows.map(
    ([name, text, href]) =>
      html`<dt>${texts.say(`start.address.${name}`)}</dt><dd>${href === undefined ? html`<code>${text}</code>` : html`<a href="${href}"><code>${text}</code></a>`}</dd>`,
  )}</dl></section>
`
}

function callsSection(texts: Texts, { calls, renewable }: Offer): Html {
  return html`<section class="calls"><h2>${texts.say('start.calls')}</h2>
<p class="lead">${texts.say('start.calls.lead')}</p>
${
  renewable &&
  html`<form class="note careful" method="post" action="/dev/start/secret"><p>${texts.say('start.secret.lead')}</p><button class="small">${texts.say('start.secret.submit')}</button></form>
`
}<ol>${calls.map(({ name, text }) => callItem(texts, name, text))}</ol></section>`
}

function callItem(texts: Texts, name: FirstCall['name'], text: string): Html {
  const [copy, copied] = [texts.say('start.copy'), texts.say('start.copied')]
  const title = texts.say(`start.call.${name}`)
  return html`<li class="panel"><div class="call"><div><h3>${title}</h3><p class="soft">${texts.say(`start.call.${name}.lead`)}</p></div><button class="quiet small" type="button" hidden data-copied="${copied}">${copy}<span class="sr">: ${title}</span></button></div>
<pre tabindex="0" role="group" aria-label="${title}"><code>${text}</code></pre></li>
`
}
