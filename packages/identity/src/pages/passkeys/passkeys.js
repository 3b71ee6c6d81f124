// Passkeys in the browser: answers the forms with data-passkey by a credential and sends them. Without this script, or
// in a browser without passkeys, those forms stay hidden.

const isSupported =
  typeof PublicKeyCredential === 'function' &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential &&
  'toJSON' in PublicKeyCredential.prototype

/** The request that the browser has open; it allows one at a time. */
let pending

/** The texts of expected errors: the user cancelled or was not verified; the device has a passkey of this account. */
const texts = { NotAllowedError: 'cancelled', InvalidStateError: 'registered' }

/** The options are in the form, or fetched when they are needed, so that a page that is only looked at costs nothing. */
async function readOptions({ dataset, elements }) {
  if (dataset.options !== undefined) return JSON.parse(dataset.options)
  const body = new URLSearchParams({ form_token: elements.form_token.value })
  const response = await fetch(dataset.optionsFrom, { method: 'POST', body })
  if (!response.ok) throw new Error(`no options: ${response.status}`)
  return response.json()
}

/** Requests a credential; a request that is open ends. */
async function requestCredential(form, mediation) {
  pending?.abort()
  pending = new AbortController()
  const { signal } = pending
  const options = await readOptions(form)
  signal.throwIfAborted()
  if (form.dataset.passkey === 'create') {
    return navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      signal,
    })
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return navigator.credentials.get({ publicKey, mediation, signal })
}

function addField(form, name, value) {
  const input = document.createElement('input')
  Object.assign(input, { type: 'hidden', name, value })
  form.append(input)
}

/** Sends the form with the credential, and with the fields of another form that it names. */
function send(form, credential) {
  for (const name of form.dataset.copied?.split(' ') ?? []) addField(form, name, document.getElementById(name).value)
  addField(form, 'credential', JSON.stringify(credential))
  form.submit()
}

function show(form, name) {
  const status = form.querySelector('[role=status]')
  status.textContent = name === undefined ? '' : form.dataset[name]
  status.hidden = name === undefined
}

/** Offers the user's passkeys in the autofill of the user name, until the user selects one. */
async function offerAutofill(form) {
  if (!('autofill' in form.dataset) || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  try {
    send(form, await requestCredential(form, 'conditional'))
  } catch {
    // Nobody selected a passkey: the other ways to sign in are still there.
  }
}

async function answer(form) {
  show(form, undefined)
  try {
    send(form, await requestCredential(form))
  } catch (error) {
    show(form, texts[error.name] ?? 'failed')
    await offerAutofill(form)
  }
}

for (const element of isSupported ? document.querySelectorAll('[data-without-passkeys]') : []) element.hidden = true
for (const form of isSupported ? document.querySelectorAll('form[data-passkey]') : []) {
  form.hidden = false
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void answer(form)
  })
  void offerAutofill(form)
}

// The device deletes passkeys that were removed here, and shows the user's current name.
for (const element of isSupported ? document.querySelectorAll('[data-accepted-passkeys]') : []) {
  const { rpId, userId, credentialIds, name, displayName } = JSON.parse(element.dataset.acceptedPasskeys)
  const accepted = { rpId, userId, allAcceptedCredentialIds: credentialIds }
  void PublicKeyCredential.signalAllAcceptedCredentials?.(accepted).catch(() => {})
  void PublicKeyCredential.signalCurrentUserDetails?.({ rpId, userId, name, displayName }).catch(() => {})
}
