import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import '@mantine/spotlight/styles.css'
import './app/style.css'
import './screens/deliver/style.css'
import { MantineProvider, MantineThemeProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueries } from './api/queries.ts'
import { signIn } from './api/session.tsx'
import { router } from './app/router.tsx'
import { theme } from './app/theme.ts'
import { SettingsProvider, useTexts } from './texts/settings.tsx'

const element = document.getElementById('root')
if (element === null) throw new Error('the page has no #root')
const nonce = element.dataset.styleNonce ?? ''
// Where react-remove-scroll, which Mantine's dialogs lock the page with, looks for the nonce of its style element.
Object.assign(globalThis, { __webpack_nonce__: nonce })
const queries = createQueries(signIn)

/** Short messages; the button that closes one has a name. */
function Messages() {
  const t = useTexts()
  const components = { Notification: { defaultProps: { closeButtonProps: { 'aria-label': t.common.close } } } }
  return (
    <MantineThemeProvider theme={{ components }} inherit>
      <Notifications position="bottom-right" autoClose={5_000} />
    </MantineThemeProvider>
  )
}

createRoot(element).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <SettingsProvider>
        <QueryClientProvider client={queries}>
          <Messages />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </SettingsProvider>
    </MantineProvider>
  </StrictMode>,
)
