#include "muster/o3de.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "provider.h"
#include "uuid.h"

namespace muster::o3de {

struct SessionSystem::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<Provider> provider, bool of_player, ISessionHandlingClientRequests& netcode, Notifications notifications)
      : netcode(netcode), notify(std::move(notifications)), of_player(of_player), provider_(std::move(provider)) {}

  ISessionHandlingClientRequests& netcode;
  const Notifications notify;
  const bool of_player;

  // The service that calls go to; one that refuses them until there is one.
  std::shared_ptr<Provider> provider() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return provider_;
  }

  bool configure(const gamelift::Options& options) {
    if (of_player) return finish(Error());
    if (options.region.empty() && options.endpoint.empty()) return finish(usage("region: is required where there is no endpoint (AWS_REGION)"));
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = Error();
    if (calls_ > 0 || polling_ != 0) {
      error_ = usage("ConfigureGameLiftClient: calls are under way, or a ticket is polled (StopPolling)");
      return false;
    }
    provider_ = gamelift_provider(options);
    return true;
  }

  // Records why a call has failed, or that it has not, and reports which.
  bool finish(Error why) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::move(why);
    return !error_;
  }

  Error error() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return error_;
  }

  // Makes a call of the service, and yields its value, or an empty one.
  template <typename T>
  void call(std::function<void(Provider&, Callback<T>)> begin, std::function<void(T)> done) const {
    const std::shared_ptr<Provider> provider = this->provider();
    if (!provider) {
      finish(usage("call ConfigureGameLiftClient first"));
      return done(T());
    }
    ++calls_;
    begin(*provider, [self = shared_from_this(), done](Result<T> result) {
      --self->calls_;
      if (self->closed_) return;
      done(self->finish(std::move(result.error)) ? std::move(result.value) : T());
    });
  }

  // Makes a call, and returns its value when it has ended. Notifications are delivered until then.
  template <typename T>
  T wait(std::function<void(std::function<void(T)>)> begin) const {
    struct Slot {
      std::atomic<bool> done{false};
      T value{};
    };
    const auto slot = std::make_shared<Slot>();
    begin([slot](T value) {
      slot->value = std::move(value);
      slot->done = true;
    });
    while (!slot->done) {
      if (const std::shared_ptr<Provider> provider = this->provider()) provider->update();
      if (!slot->done) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return slot->value;
  }

  template <typename R>
  void create(const R& request, std::function<void(std::string)> done) {
    call<std::string>([request](Provider& provider, Callback<std::string> ended) { provider.create(request, std::move(ended)); }, std::move(done));
  }

  void search(const AWSGameLiftSearchSessionsRequest& request, std::function<void(SearchSessionsResponse)> done) const {
    call<SearchSessionsResponse>([request](Provider& provider, Callback<SearchSessionsResponse> ended) { provider.search(request, std::move(ended)); }, std::move(done));
  }

  void join(const JoinSessionRequest& request, std::function<void(bool)> done) {
    const auto reserve = [request](Provider& provider, Callback<SessionConnectionConfig> ended) { provider.join(request, std::move(ended)); };
    call<SessionConnectionConfig>(reserve, [self = shared_from_this(), done](SessionConnectionConfig slot) { done(!slot.m_playerSessionId.empty() && self->connect(slot)); });
  }

  bool connect(const SessionConnectionConfig& slot) {
    return netcode.RequestPlayerJoinSession(slot) || finish(usage("RequestPlayerJoinSession has refused: " + slot.m_ipAddress + ":" + std::to_string(slot.m_port)));
  }

  void accept(const AcceptMatchRequest& request, std::function<void(Nothing)> done) {
    call<Nothing>([request](Provider& provider, Callback<Nothing> ended) { provider.accept(request, std::move(ended)); }, std::move(done));
  }

  void start(const StartMatchmakingRequest& request, std::function<void(std::string)> done) {
    call<std::string>([request](Provider& provider, Callback<std::string> ended) { provider.start(request, std::move(ended)); }, std::move(done));
  }

  void stop(const StopMatchmakingRequest& request, std::function<void(Nothing)> done) {
    call<Nothing>([request](Provider& provider, Callback<Nothing> ended) { provider.stop(request.m_ticketId, std::move(ended)); }, std::move(done));
  }

  void poll(const std::string& ticket, const std::string& player) {
    std::uint64_t turn;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (polling_ != 0) return;
      turn = polling_ = ++turns_;
    }
    TicketWatch watch;
    watch.proposed = [self = shared_from_this(), turn] {
      if (self->is_polling(turn) && self->notify.OnMatchAcceptance) self->notify.OnMatchAcceptance();
    };
    watch.missed = [self = shared_from_this(), turn](const Error& why) {
      if (self->is_polling(turn)) self->miss(why);
    };
    const auto follow = [this, ticket, player, watch](Provider& provider, Callback<Place> ended) {
      const Call call = provider.follow(ticket, player, watch, std::move(ended));
      const std::lock_guard<std::mutex> lock(mutex_);
      following_ = call;
    };
    // It is not a call that ConfigureGameLiftClient would wait for: polling_ says so already.
    const std::shared_ptr<Provider> provider = this->provider();
    const auto ended = [self = shared_from_this(), turn](Result<Place> place) { self->polled(turn, std::move(place)); };
    if (!provider) return ended(failed<Place>(usage("call ConfigureGameLiftClient first")));
    follow(*provider, ended);
  }

  void unpoll() {
    std::unique_lock<std::mutex> lock(mutex_);
    polling_ = 0;
    const Call call = following_;
    following_ = 0;
    const std::shared_ptr<Provider> provider = provider_;
    lock.unlock();
    if (call != 0 && provider) provider->cancel(call);
  }

  // Ends all without a notification. What is under way holds the state, and the service holds that.
  void close() {
    unpoll();
    closed_ = true;
    std::unique_lock<std::mutex> lock(mutex_);
    const std::shared_ptr<Provider> provider = std::move(provider_);
    lock.unlock();
  }

 private:
  bool is_polling(std::uint64_t turn) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return polling_ == turn;
  }

  void miss(const Error& why) {
    finish(why);
    if (notify.OnMatchError) notify.OnMatchError();
  }

  void polled(std::uint64_t turn, Result<Place> place) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (polling_ != turn) return;
      polling_ = following_ = 0;
    }
    const bool joined = finish(std::move(place.error)) && connect(place.value.connection());
    const auto& event = joined ? notify.OnMatchComplete : notify.OnMatchFailure;
    if (event) event();
  }

  mutable std::mutex mutex_;
  std::shared_ptr<Provider> provider_;  // guarded by mutex_, as the members below
  mutable Error error_;
  std::uint64_t turns_ = 0, polling_ = 0;  // of StartPolling; 0: no ticket is followed
  Call following_ = 0;
  mutable std::atomic<int> calls_{0};
  std::atomic<bool> closed_{false};
};

SessionSystem::SessionSystem(Client& client, ISessionHandlingClientRequests& netcode, Notifications notifications)
    : state_(std::make_shared<State>(player_provider(client), true, netcode, std::move(notifications))) {}

SessionSystem::SessionSystem(ISessionHandlingClientRequests& netcode, Notifications notifications)
    : state_(std::make_shared<State>(nullptr, false, netcode, std::move(notifications))) {}

SessionSystem::~SessionSystem() { state_->close(); }

void SessionSystem::update() {
  const std::shared_ptr<Provider> provider = state_->provider();  // a notification may end the system
  if (provider) provider->update();
}

bool SessionSystem::ConfigureGameLiftClient(const std::string& region) { return state_->configure(gamelift::Options::from_environment(region)); }

bool SessionSystem::ConfigureGameLiftClient(const gamelift::Options& options) { return state_->configure(options); }

std::string SessionSystem::CreatePlayerId(bool includeBrackets, bool includeDashes) {
  std::string id;
  for (const char c : new_uuid()) {
    if (c != '-' || includeDashes) id += c;
  }
  return includeBrackets ? '{' + id + '}' : id;
}

std::string SessionSystem::CreateSession(const AWSGameLiftCreateSessionRequest& request) {
  return state_->wait<std::string>([&](std::function<void(std::string)> done) { state_->create(request, done); });
}

std::string SessionSystem::CreateSession(const AWSGameLiftCreateSessionOnQueueRequest& request) {
  return state_->wait<std::string>([&](std::function<void(std::string)> done) { state_->create(request, done); });
}

SearchSessionsResponse SessionSystem::SearchSessions(const AWSGameLiftSearchSessionsRequest& request) const {
  return state_->wait<SearchSessionsResponse>([&](std::function<void(SearchSessionsResponse)> done) { state_->search(request, done); });
}

bool SessionSystem::JoinSession(const JoinSessionRequest& request) {
  return state_->wait<bool>([&](std::function<void(bool)> done) { state_->join(request, done); });
}

void SessionSystem::LeaveSession() {
  state_->netcode.RequestPlayerLeaveSession();
  state_->finish(Error());
}

void SessionSystem::CreateSessionAsync(const AWSGameLiftCreateSessionRequest& request) {
  state_->create(request, [state = state_](std::string id) {
    if (state->notify.OnCreateSessionAsyncComplete) state->notify.OnCreateSessionAsyncComplete(id);
  });
}

void SessionSystem::CreateSessionAsync(const AWSGameLiftCreateSessionOnQueueRequest& request) {
  state_->create(request, [state = state_](std::string id) {
    if (state->notify.OnCreateSessionAsyncComplete) state->notify.OnCreateSessionAsyncComplete(id);
  });
}

void SessionSystem::SearchSessionsAsync(const AWSGameLiftSearchSessionsRequest& request) const {
  state_->search(request, [state = state_](SearchSessionsResponse found) {
    if (state->notify.OnSearchSessionsAsyncComplete) state->notify.OnSearchSessionsAsyncComplete(found);
  });
}

void SessionSystem::JoinSessionAsync(const JoinSessionRequest& request) {
  state_->join(request, [state = state_](bool joined) {
    if (state->notify.OnJoinSessionAsyncComplete) state->notify.OnJoinSessionAsyncComplete(joined);
  });
}

void SessionSystem::LeaveSessionAsync() {
  LeaveSession();
  if (state_->notify.OnLeaveSessionAsyncComplete) state_->notify.OnLeaveSessionAsyncComplete();
}

void SessionSystem::AcceptMatch(const AcceptMatchRequest& request) {
  state_->wait<Nothing>([&](std::function<void(Nothing)> done) { state_->accept(request, done); });
}

std::string SessionSystem::StartMatchmaking(const StartMatchmakingRequest& request) {
  return state_->wait<std::string>([&](std::function<void(std::string)> done) { state_->start(request, done); });
}

void SessionSystem::StopMatchmaking(const StopMatchmakingRequest& request) {
  state_->wait<Nothing>([&](std::function<void(Nothing)> done) { state_->stop(request, done); });
}

void SessionSystem::AcceptMatchAsync(const AcceptMatchRequest& request) {
  state_->accept(request, [state = state_](Nothing) {
    if (state->notify.OnAcceptMatchAsyncComplete) state->notify.OnAcceptMatchAsyncComplete();
  });
}

void SessionSystem::StartMatchmakingAsync(const StartMatchmakingRequest& request) {
  state_->start(request, [state = state_](std::string id) {
    if (state->notify.OnStartMatchmakingAsyncComplete) state->notify.OnStartMatchmakingAsyncComplete(id);
  });
}

void SessionSystem::StopMatchmakingAsync(const StopMatchmakingRequest& request) {
  state_->stop(request, [state = state_](Nothing) {
    if (state->notify.OnStopMatchmakingAsyncComplete) state->notify.OnStopMatchmakingAsyncComplete();
  });
}

void SessionSystem::StartPolling(const std::string& ticketId, const std::string& playerId) { state_->poll(ticketId, playerId); }

void SessionSystem::StopPolling() { state_->unpoll(); }

Error SessionSystem::last_error() const { return state_->error(); }

}  // namespace muster::o3de
