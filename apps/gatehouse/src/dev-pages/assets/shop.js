// The inbox component in a page of ours: it gets the token of whoever signed in, else that of the sample user.
import '../index.js'
import { settings } from '../page.js'

const inbox = document.querySelector('gatehouse-inbox')
const form = document.querySelector('#send-form')
const said = document.querySelector('#said')
const who = document.querySelector('#who')
const [signIn, signOut] = ['#sign-in', '#sign-out'].map((id) => document.querySelector(id))
const page = `${location.origin}${location.pathname}`
const verifierKey = 'shop-sign-in'
let user = { id: settings.userId, token: settings.token }

inbox.texts = JSON.parse(inbox.dataset.texts ?? '{}')
inbox.setAttribute('base-url', location.origin)

function show(next, name) {
  user = next
  who.textContent = name
  inbox.setAttribute('user-id', user.id)
  inbox.getToken = () => user.token
  const isSignedIn = user.token !== settings.token
  if (signIn) signIn.hidden = isSignedIn
  if (signOut) signOut.hidden = !isSignedIn
}

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** Leaves for the sign-in page (RFC 6749 §4.1 with PKCE, RFC 7636). */
async function leave() {
  const { issuer, clientId } = settings.signIn
  if (new URL(issuer).origin !== location.origin) {
    location.href = `${issuer}/dev/inbox`
    return
  }
  const [state, verifier] = [random(), random()]
  sessionStorage.setItem(verifierKey, JSON.stringify({ state, verifier }))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: page,
    response_type: 'code',
    scope: 'openid profile read:notifications write:preferences',
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  })
  location.href = `${issuer}/authorize?${query}`
}

/** Exchanges the code that the sign-in page sent back. Answers whether somebody is signed in now. */
async function arrive() {
  const query = new URLSearchParams(location.search)
  const kept = JSON.parse(sessionStorage.getItem(verifierKey) ?? 'null')
  sessionStorage.removeItem(verifierKey)
  if (query.has('code') || query.has('error')) history.replaceState(null, '', page)
  if (!query.has('code') || kept === null || query.get('state') !== kept.state) return false
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: settings.signIn.clientId,
    code: query.get('code') ?? '',
    code_verifier: kept.verifier,
    redirect_uri: page,
  })
  const answer = await fetch('/token', { method: 'POST', body })
  if (!answer.ok) return false
  const { access_token: token } = await answer.json()
  const profile = await fetch('/userinfo', { headers: { authorization: `Bearer ${token}` } })
  if (!profile.ok) return false
  const { sub, name = sub } = await profile.json()
  show({ id: sub, token }, name)
  return true
}

/** The token is kept by this page alone, so that whoever loads it again signs in again. */
async function begin() {
  if (!settings.signIn || !(await arrive())) show(user, user.id)
}

let sent = 0
/** What each event carries, and the channels that the templates of the first run have a text for. */
const samples = {
  'order.shipped': {
    channels: ['in-app', 'push', 'email', 'sms'],
    data: () => ({ item: 'A red bicycle', order_id: `A-${1000 + ++sent}`, tracking_url: settings.baseUrl }),
  },
  'comment.added': {
    channels: ['in-app', 'push', 'email'],
    data: () => ({ author: 'Bob', text: 'Count me in on Sunday!', photo_url: settings.baseUrl }),
  },
  'photo.liked': {
    channels: ['in-app', 'push'],
    data: () => ({ actor: 'Bob', photo: 'Sunset over the river' }),
  },
  'security.alert': {
    channels: ['push', 'email', 'sms'],
    data: () => ({ device: 'A new phone', place: 'London' }),
  },
}
const chosenEvent = form.querySelector('#event')
const boxes = [...form.querySelectorAll('[name=channel]')]

function offerChannels() {
  const { channels } = samples[chosenEvent.value]
  for (const box of boxes) box.disabled = !channels.includes(box.value)
  if (!boxes.some((box) => box.checked && !box.disabled)) boxes.find((box) => !box.disabled).checked = true
}
chosenEvent.addEventListener('change', offerChannels)
offerChannels()

const word = (kind, value) => form.querySelector(`template[data-${kind}="${value}"]`)?.content.textContent ?? value

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault()
  const event = chosenEvent.value
  const channels = boxes.filter((box) => box.checked && !box.disabled).map(({ value }) => value)
  if (channels.length === 0) {
    said.textContent = form.dataset.nobody
    return
  }
  try {
    const answer = await fetch('/v1/notify', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${settings.token}` },
      body: JSON.stringify({ event, user_id: user.id, channels, data: samples[event].data() }),
      signal: AbortSignal.timeout(10_000),
    })
    const body = await answer.json()
    if (!answer.ok) throw new Error(body.detail)
    report(body.deliveries)
  } catch (error) {
    said.textContent = `${form.dataset.failed} ${error.message}`
  }
})

function report(deliveries) {
  const list = document.createElement('ul')
  for (const { channel, outcome } of deliveries) {
    const item = document.createElement('li')
    item.textContent = `${word('channel', channel)}: ${word('outcome', outcome)}`
    list.append(item)
  }
  said.replaceChildren(list, document.querySelector('#outcome').content.cloneNode(true))
}

signIn?.addEventListener('click', leave)
signOut?.addEventListener('click', () => {
  location.href = '/end_session'
})
void begin()
