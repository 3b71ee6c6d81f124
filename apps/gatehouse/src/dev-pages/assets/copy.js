// Copies a call to the clipboard. Without a script the text is selected by hand.
for (const button of document.querySelectorAll('button[data-copied]')) {
  const text = button.closest('li')?.querySelector('code')?.textContent ?? ''
  const label = button.firstChild
  const copy = label?.textContent ?? ''
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    if (label) label.textContent = button.dataset.copied ?? ''
    setTimeout(() => {
      if (label) label.textContent = copy
    }, 2_000)
  })
}
