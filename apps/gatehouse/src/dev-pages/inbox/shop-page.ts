import { type Html, html, Html as Markup, type PageAnswer, type Texts } from '@gatehouse/kit/page'
import type { DevSite } from '../site.ts'

/** Who the shop greets, and whether people can sign in. */
export interface ShopOptions {
  readonly userId: string
  readonly canSignIn: boolean
}

/** What can be sent, by event type: each is declared by the file of the first run. */
const samples = ['order.shipped', 'comment.added', 'photo.liked', 'security.alert'] as const
const channels = ['in-app', 'push', 'email', 'sms'] as const

/** A product page with the inbox component in its header, as a customer of ours would build it. */
export function shopPage(texts: Texts, site: DevSite, { userId, canSignIn }: ShopOptions): PageAnswer {
  const title = texts.say('shop.title')
  return {
    title,
    site: site.bar(texts, '/dev/inbox'),
    styles: ['shop.css'],
    script: 'shop.js',
    body: html`<div class="shop"><div class="top">
<p class="name">${bicycle}<span>Velo &amp; Lane</span></p>
<nav aria-label="${texts.say('shop.nav')}"><ul>${['bikes', 'parts', 'service'].map((name) => html`<li>${texts.say(`shop.nav.${name}`)}</li>`)}</ul></nav>
<div class="account"><span id="who" role="status">${userId}</span>${canSignIn && html`<button class="quiet small" type="button" id="sign-in" hidden>${texts.say('shop.signin')}</button><button class="quiet small" type="button" id="sign-out" hidden>${texts.say('shop.signout')}</button>`}<gatehouse-inbox user-id="${userId}" data-texts="${JSON.stringify(componentTexts(texts))}"></gatehouse-inbox></div></div>
<div class="offer"><div><h1>${texts.say('shop.headline')}</h1><p class="lead">${texts.say('shop.lead')}</p></div>${bicycle}</div>
${sendForm(texts)}
<h2>${texts.say('shop.products')}</h2><ul class="products">${['city', 'tour', 'cargo'].map((name) => product(texts, name))}</ul></div>
<noscript><p class="note careful">${texts.say('shop.noscript')}</p></noscript>
<p class="soft under">${texts.say('shop.about')} <code>@gatehouse/inbox</code></p>`,
  }
}

function sendForm(texts: Texts): Html {
  return html`<form class="send" id="send-form" aria-labelledby="send-title" data-nobody="${texts.say('shop.send.nobody')}" data-failed="${texts.say('shop.send.failed')}"><h2 id="send-title">${texts.say('shop.send')}</h2><p class="soft">${texts.say('shop.send.lead')}</p>
<div class="choices"><div><label for="event">${texts.say('shop.send.event')}</label><select id="event">${samples.map(
    (event) => html`<option value="${event}">${texts.say(`shop.event.${event}`)}</option>`,
  )}</select></div><fieldset><legend>${texts.say('shop.send.channels')}</legend>${channels.map(
    (channel) =>
      html`<label class="check"><input type="checkbox" name="channel" value="${channel}"${channel === 'in-app' && html` checked`}>${texts.say(`shop.channel.${channel}`)}</label>`,
  )}</fieldset></div>
<button id="send">${texts.say('shop.send.submit')}</button>
<div id="said" role="status"></div>
<template id="outcome"><p><a href="/dev/mailbox">${texts.say('shop.send.mailbox')}</a></p></template>${[...outcomes].map((outcome) => html`<template data-outcome="${outcome}">${texts.say(`shop.outcome.${outcome}`)}</template>`)}${channels.map((channel) => html`<template data-channel="${channel}">${texts.say(`shop.channel.${channel}`)}</template>`)}</form>
`
}

const outcomes = ['queued', 'capped', 'deferred', 'aggregated', 'no_recipient', 'undeliverable', 'failed'] as const

function product(texts: Texts, name: string): Html {
  return html`<li class="${name}"><div class="picture">${bicycle}</div><strong>${texts.say(`shop.product.${name}`)}</strong><span class="soft">${texts.say(`shop.product.${name}.lead`)}</span><span class="price">${texts.say(`shop.product.${name}.price`)}</span></li>
`
}

/** The words of the component in the language of the page; English is its own. */
function componentTexts(texts: Texts): Record<string, string> {
  const names = componentNames.filter((name) => texts.has(`component.${name}`))
  return Object.fromEntries(names.map((name) => [name, texts.say(`component.${name}`)]))
}

const componentNames = [
  'bell',
  'unseen',
  'title',
  'all',
  'unread',
  'markAll',
  'preferences',
  'back',
  'close',
  'markRead',
  'markUnread',
  'archive',
  'more',
  'empty',
  'offline',
  'failed',
  'arrived',
  'unreadItem',
  'unsubscribe',
  'resubscribe',
  'unsubscribed',
  'email',
  'push',
  'sms',
  'in-app',
] as const

const bicycle = new Markup(
  '<svg class="bicycle" viewBox="0 0 64 40" aria-hidden="true" focusable="false"><circle cx="13" cy="27" r="10.5"/><circle cx="51" cy="27" r="10.5"/><path d="M13 27 23 10h19l9 17M23 10l9 17H13M32 27 42 10M20 6h7M42 10l-1.5-5H47"/></svg>',
)
