// Blocks that a cache frees for other caches, and those that others free for it: they travel in
// carriers, and come home at the owner's next Collect.
#include <new>
#include <span>
#include <utility>

#include "memory/local_cache.h"
#include "memory/memory_manager.h"

namespace eris::memory {

OwnerId LocalCache::EntryOf(const void* block) const {
  const OwnerId entry = owners_.Of(block);
  return entry == id_ ? entry : layout_.HeaderOf(block)->pool->owners().Of(block);
}

void LocalCache::FreeElsewhere(void* block, size_t size_class) {
  const OwnerId entry = layout_.HeaderOf(block)->pool->owners().Of(block);
  if (entry == id_) {
    // What is remote is not to be given out again: its superblock is to become empty.
    IsRemote(*layout_.RunOf(block)) ? FreeMoved(block, SizeClassBytes(size_class))
                                    : FreeOwn(block, size_class);
  } else {
    FreeForeign(block, static_cast<OwnerId>(entry & ~kOnItsWay), size_class);
  }
}

// `owner` may be this cache, which has not taken the block's superblock in: then it comes back.
void LocalCache::FreeForeign(void* block, OwnerId owner, size_t size_class) {
  ERIS_CHECK(owner != 0);  // the span is free: freed twice
  LocalCache& to = manager_.CacheOf(owner);
  const bool counts = &to.manager_ == &manager_;
  if (counts) FiguresToChange(size_class).balance.Add(-uint64_t{1});
  Outgoing& outgoing = outgoing_[owner % kOutgoing];
  if (outgoing.owner != owner) {
    if (outgoing.carrier != nullptr) Send(outgoing);
    outgoing.owner = owner;
  }
  if (outgoing.carrier == nullptr) outgoing.carrier = TakeCarrier();
  if (outgoing.carrier == nullptr) {
    auto* alone = static_cast<ReturnBatch*>(block);
    alone->count = reinterpret_cast<uintptr_t>(this) + uint64_t{counts};
    // relaxed: published with the block.
    alone_on_the_way_.fetch_add(1, std::memory_order_relaxed);
    PushTo(to, alone);
    return;
  }
  outgoing.carrier->counted = counts;
  Poison(block, SizeClassBytes(size_class));
  outgoing.carrier->blocks[outgoing.carrier->count++] = block;
  ++outgoing_used_;
  if (outgoing.carrier->count == ReturnCarrier::kBlocksMax) Send(outgoing);
}

ReturnCarrier* LocalCache::TakeCarrier() {
  if (free_carriers_ == nullptr) free_carriers_ = returned_carriers_.TakeAll();
  auto* carrier = static_cast<ReturnCarrier*>(free_carriers_);
  if (carrier != nullptr) {
    free_carriers_ = carrier->next;
  } else if (carriers_made_ < kCarriersMax) {
    carrier = new (std::nothrow) ReturnCarrier;
    if (carrier == nullptr) return nullptr;
    carrier->home = this;
    carrier->all_next = carriers_;
    carriers_ = carrier;
    ++carriers_made_;
  } else {
    return nullptr;
  }
  carrier->count = 0;
  return carrier;
}

void LocalCache::Send(Outgoing& outgoing) {
  outgoing_used_ -= static_cast<uint32_t>(outgoing.carrier->count);
  ReturnCarrier* const carrier = outgoing.carrier;
  outgoing.carrier = nullptr;
  PushTo(manager_.CacheOf(outgoing.owner), carrier);
}

void LocalCache::SendHome() {
  for (Outgoing& outgoing : outgoing_) {
    if (outgoing.carrier != nullptr) Send(outgoing);
  }
}

void LocalCache::PushTo(LocalCache& owner, ReturnBatch* batch) {
  if (owner.bin_.Push(batch) && owner.listener_ != nullptr) owner.listener_->BinFilled();
}

bool LocalCache::Collect() {
  uint64_t taken = 0;
  bool any = false;
  while (taken < kCollectedAtOnce) {
    // Until the bin is empty: a push into an empty bin notifies the owner again.
    if (collecting_ == nullptr) collecting_ = TakeBatches();
    if (collecting_ == nullptr) break;
    ReturnBatch* const batch = collecting_;
    collecting_ = batch->next;
    __builtin_prefetch(collecting_);
    any = true;
    if (batch->IsCarrier()) {
      taken += batch->count;
      TakeIn(static_cast<ReturnCarrier*>(batch));
    } else if (batch->IsClaim()) {
      taken += kCollectedAtOnce / 2;
      Answer(static_cast<SuperblockClaim*>(batch));
    } else {
      ++taken;
      TakeInAlone(batch);
    }
  }
  collects_more_ = taken >= kCollectedAtOnce;
  return any;
}

ReturnBatch* LocalCache::TakeBatches() {
  ReturnBatch* const batches = bin_.TakeAll();
  if (claims_out_ == 0) return batches;
  // What is in the same list may be a block of a superblock that an answer brings.
  ReturnBatch* others = nullptr;
  ReturnBatch** end = &others;
  bool adopted = false;
  for (ReturnBatch* batch = batches; batch != nullptr;) {
    ReturnBatch* const next = batch->next;
    if (batch->IsClaim() && static_cast<SuperblockClaim*>(batch)->answered) {
      Adopt(static_cast<SuperblockClaim*>(batch));
      adopted = true;
    } else {
      *end = batch;
      end = &batch->next;
    }
    batch = next;
  }
  // What has waited for an answer may be a block of its superblocks. No other notice of it will
  // come.
  *end = adopted ? std::exchange(postponed_, nullptr) : nullptr;
  return others;
}

void LocalCache::TakeIn(ReturnCarrier* carrier) {
  const std::span<void*> blocks(carrier->blocks.data(), carrier->count);
  for (void* block : blocks) __builtin_prefetch(layout_.HeaderOf(block));
  size_t others = 0;  // of superblocks that have changed hands
  OwnerId entry = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i + 8 < blocks.size()) __builtin_prefetch(layout_.RunOf(blocks[i + 8]));
    if (const OwnerId owner = EntryOf(blocks[i]); owner == id_) [[likely]] {
      ComesHome(blocks[i], carrier->counted);
    } else {
      entry = owner;
      blocks[others++] = blocks[i];
    }
  }
  if (others > 0) {
    carrier->count = others;
    SendOn(carrier, entry);
  } else {
    carrier->home->returned_carriers_.Push(carrier);
  }
}

void LocalCache::TakeInAlone(ReturnBatch* block) {
  if (const OwnerId entry = EntryOf(block); entry != id_) return SendOn(block, entry);
  auto* const from = reinterpret_cast<LocalCache*>(block->count & ~uint64_t{1});
  ComesHome(block, (block->count & 1) != 0);
  from->alone_on_the_way_.fetch_sub(1, std::memory_order_release);  // pairs with BringSuperblock
}

void LocalCache::ComesHome(void* block, bool counted) {
  const size_t size_class = layout_.RunOf(block)->size_class;
  Poison(block, SizeClassBytes(size_class));
  if (counted) FiguresToChange(size_class).balance.Add(1);
  ReturnToSpan(block, size_class);
  freed_to_spans_bytes_ += SizeClassBytes(size_class);
}

// The blocks are no longer in the account of this manager, whose caches had counted them.
void LocalCache::Uncount(ReturnBatch* batch) {
  const auto uncount = [this](const void* block) {
    FiguresToChange(layout_.RunOf(block)->size_class).balance.Add(1);
  };
  if (!batch->IsCarrier()) {
    if ((batch->count & 1) != 0) uncount(batch);
    batch->count &= ~uint64_t{1};
    return;
  }
  auto* const carrier = static_cast<ReturnCarrier*>(batch);
  if (!std::exchange(carrier->counted, false)) return;
  for (const void* block : std::span(carrier->blocks.data(), carrier->count)) uncount(block);
}

void LocalCache::SendOn(ReturnBatch* batch, OwnerId entry) {
  const auto owner = static_cast<OwnerId>(entry & ~kOnItsWay);
  ERIS_CHECK(owner != 0);  // the span is free: freed twice
  if (owner != id_) {
    LocalCache& to = manager_.CacheOf(owner);
    if (&to.manager_ != &manager_) Uncount(batch);
    return PushTo(to, batch);
  }
  batch->next = postponed_;
  postponed_ = batch;
}

}  // namespace eris::memory
