// Keeps the mailbox live: asks for the page again while it is looked at, and puts in what changed. A provider's answer is
// sent without leaving the page. Without a script the forms and links do the same.
const everyMs = 2_000
const live = document.querySelector('.live')
const news = document.querySelector('#news')
let tag
let pending = Promise.resolve()

const messageIds = (root) => new Set([...root.querySelectorAll('#list a[id]')].map(({ id }) => id))

function show(connected) {
  if (!live) return
  const text = connected ? live.dataset.liveText : live.dataset.awayText
  live.classList.toggle('away', !connected)
  if (live.hidden || live.textContent !== text) live.textContent = text ?? ''
  live.hidden = false
}

function replace(fresh) {
  const before = messageIds(document)
  for (const region of document.querySelectorAll('[data-live]')) {
    const next = fresh.getElementById(region.id)
    if (!next || next.innerHTML === region.innerHTML) continue
    const focused = region.contains(document.activeElement) ? document.activeElement?.id : undefined
    region.replaceChildren(...next.childNodes)
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true })
  }
  const arrived = [...messageIds(document)].filter((id) => !before.has(id)).length
  if (arrived > 0 && news) news.textContent = (news.dataset.text ?? '').replace('{n}', String(arrived))
}

async function ask() {
  try {
    const headers = { accept: 'text/html', ...(tag ? { 'if-none-match': tag } : {}) }
    const answer = await fetch(location.href, { headers, cache: 'no-store', signal: AbortSignal.timeout(10_000) })
    show(answer.ok || answer.status === 304)
    if (!answer.ok) return
    tag = answer.headers.get('etag') ?? undefined
    replace(new DOMParser().parseFromString(await answer.text(), 'text/html'))
  } catch {
    show(false)
  }
}

/** One request after the other, so that an older page never replaces a newer one. */
function refresh() {
  pending = pending.then(ask)
  return pending
}

document.addEventListener('submit', async (event) => {
  const form = event.target
  if (!(form instanceof HTMLFormElement) || form.method !== 'post') return
  event.preventDefault()
  try {
    await fetch(form.action, {
      method: 'POST',
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(10_000),
    })
  } catch {
    show(false)
  }
  await refresh()
})

document.querySelector('#channel')?.addEventListener('change', ({ target }) => target.form.requestSubmit())

async function follow() {
  for (;;) {
    if (document.visibilityState === 'visible') await refresh()
    await new Promise((done) => setTimeout(done, everyMs))
  }
}
void follow()
