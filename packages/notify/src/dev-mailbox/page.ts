import { type Html, html, type PageAnswer } from '@gatehouse/kit/page'
import { channels } from '../model/channel.ts'
import type { MailboxEntry } from '../store/store.ts'
import { channelIcon } from './channel-icon.ts'
import { messageView, titleOf } from './message-view.ts'
import { addressOf, anchorOf, formatTime, type MailboxView, mailboxPath } from './view.ts'

/** The mailbox as a page: the list, newest first, and the message that was chosen. */
export function mailboxPage(view: MailboxView, now: number): PageAnswer {
  const { texts, shown, links } = view
  const title = texts.say('mailbox.title')
  return {
    title: shown ? titleOf(shown.entry) : title,
    site: {
      links: links.length > 0 ? links : [{ href: mailboxPath, text: title }],
      here: mailboxPath,
      skip: texts.say('site.skip'),
      label: texts.say('site.label'),
    },
    styles: ['mailbox.css'],
    script: 'mailbox.js',
    frames: true,
    body: html`<div class="mailbox${shown && ' open'}"><div class="side"><div class="bar">${shown ? html`<h2>${title}</h2>` : html`<h1>${title}</h1>`}<span class="live" role="status" hidden data-live-text="${texts.say('mailbox.live')}" data-away-text="${texts.say('mailbox.away')}"></span></div>
<p class="soft intro">${texts.say('mailbox.lead')}</p>
${filterForm(view)}${list(view, now)}</div>
<div class="pane">${shown ? messageView(view, shown, now) : nothingChosen(view)}</div></div>
<p class="sr" role="status" id="news" data-text="${texts.say('mailbox.news')}"></p>`,
  }
}

function filterForm({ texts, filter, entries }: MailboxView): Html {
  const users = [...new Set(entries.map(({ userId }) => userId))].sort()
  const isFiltered = filter.channel !== undefined || filter.user !== undefined
  return html`<form class="filter" method="get" action="${mailboxPath}"><div><label for="channel">${texts.say('mailbox.channel')}</label><select id="channel" name="channel"><option value="">${texts.say('mailbox.any')}</option>${channels.map(
    (channel) =>
      html`<option value="${channel}"${channel === filter.channel && html` selected`}>${texts.say(`channel.${channel}`)}</option>`,
  )}</select></div><div><label for="user">${texts.say('mailbox.user')}</label><input id="user" name="user" value="${filter.user ?? ''}" list="users" maxlength="300" autocomplete="off"><datalist id="users">${users.map(
    (user) => html`<option value="${user}"></option>`,
  )}</datalist></div><button class="quiet small">${texts.say('mailbox.filter')}</button>${isFiltered && html`<a class="clear" href="${mailboxPath}">${texts.say('mailbox.clear')}</a>`}</form>
`
}

function list(view: MailboxView, now: number): Html {
  const { texts, entries, hasMore, filter } = view
  const isFiltered = filter.channel !== undefined || filter.user !== undefined
  const empty = html`<p class="none">${texts.say(isFiltered ? 'mailbox.none' : 'mailbox.empty')}</p>`
  return html`<nav id="list" aria-label="${texts.say('mailbox.messages')}" data-live>${entries.length === 0 ? empty : html`<ol>${entries.map((entry) => row(view, entry, now))}</ol>`}${
    hasMore &&
    html`<p class="older"><a href="${addressOf(undefined, { ...filter, before: entries.at(-1)?.id })}">${texts.say('mailbox.older')}</a></p>`
  }</nav>`
}

function row({ texts, standings, filter, shown }: MailboxView, entry: MailboxEntry, now: number): Html {
  const { id, channel, userId, at } = entry
  const standing = standings.get(id)
  const state = standing?.deadToken ? 'dead' : standing?.state
  const isShown = id === shown?.entry.id
  return html`<li><a id="${anchorOf(id)}" href="${addressOf(id, { ...filter })}"${isShown && html` aria-current="true"`}>${channelIcon(channel)}<span class="what"><b>${titleOf(entry)}</b><span class="soft"><span class="sr">${texts.say(`channel.${channel}`)}, </span>${userId} · <time datetime="${new Date(at).toISOString()}">${formatTime(at, texts.locale, now)}</time></span></span>${state !== undefined && html`<span class="state ${state}">${texts.say(`state.${state}`)}</span>`}</a></li>
`
}

function nothingChosen({ texts, entries }: MailboxView): Html {
  if (entries.length > 0) return html`<div class="choose"><p>${texts.say('mailbox.choose')}</p></div>`
  return html`<div class="choose"><p>${texts.say('mailbox.first')}</p><p><a href="/">${texts.say('mailbox.start')}</a></p></div>`
}
